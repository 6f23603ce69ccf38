# shellcheck shell=bash
# Functions that run perf's own tests and print TAP. They need lib.sh and tap.sh.

# names of the base's tests of sessions, samples, records and callchains
base_tests=(
	'Read samples using the mmap interface' 'Test event parsing'
	'PERF_RECORD_' "Roundtrip evsel" 'Setup struct perf_event_attr'
	'Match and link multiple hists' "'import perf' in python"
	'Sample parsing' 'Use a dummy software event' 'Parse with no sample_id_all'
	'Filter hist entries' 'Lookup mmap thread' 'Sort output of hist entries'
	'Cumulate child hist entries' 'Thread map' 'Session topology'
	'Synthesize attr update' 'Read backward ring buffer' 'Event expansion for cgroups'
	'Sigtrap' 'Event groups' 'Test dwarf unwind' 'perf diff tests'
	'perf pipe recording and injection' 'Zstd perf.data' 'perf script tests'
	'perf record tests' 'perf record sideband' 'perf data convert'
)

# may_skip NAME: tests of the base may be skipped for lack of a requirement, and the test
# of flame graphs if another template is installed
may_skip() {
	case $1 in
	*'flame graphs'*) ;;
	*[Dd]eferred* | *off-cpu* | *offcpu* | *'Ring buffers written'*) return 1 ;;
	esac
}

# headers_like_base: check that the series changes no header that differs from its copy in tools/
headers_like_base() {
	local f bad=0

	while IFS= read -r f; do
		if ! tree=$perf_tree tgit diff --quiet base -- "$f"; then
			echo "$f"
			bad=1
		fi
	done < <(cd "$perf_tree/tools/perf" && ./check-headers.sh 2>&1 | grep '^ *diff -u' | tr ' ' '\n' |
		grep /)
	return "$bad"
}

# perf_test_numbers PERF PATTERN...: print the tests whose description contains a pattern
perf_test_numbers() {
	local perf=$1

	shift
	(cd "$perf_tree/tools/perf" && "$perf" test list 2>&1) |
	grep -i -F "$(printf '%s\n' "$@")" | sed -n 's/^ *\([0-9]*\)[:.].*/\1/p' | sort -nu
}

# perf_failure LOG LINE: print the output of a test up to LINE, which says that the test failed;
# leave out the checks that passed
perf_failure() {
	line=$2 awk '
		$0 == ENVIRON["line"] { printf "%s", said; exit }
		/^ *[0-9.]+: / { said = "" }
		!/ \[ok\]$/ { said = said $0 "\n" }' "$1"
}

# perf_tap LOG: convert the output of perf test to TAP
perf_tap() {
	local line name

	while IFS= read -r line; do
		name=$perf_label$(echo "$line" | sed -E 's/^ *[0-9.]+: *//; s/ *: *(Ok|Skip.*|FAILED!.*)$//')
		case $line in
		*': Ok') tap_ok "$name" ;;
		*': Skip'*) tap_skip "$name" "${line##*: Skip}" ;;
		*': FAILED!'*) tap_not_ok "$name" < <(perf_failure "$1" "$line") ;;
		esac
	done < <(grep -E '^ *[0-9.]+: .*: (Ok|Skip|FAILED!)' "$1")
}

# perf_dir NAME: make an empty folder for the output of a run, also for reports of the
# sanitizers. Without the folder, these reports are shown only for a failed test, and never for
# a perf in the middle of a pipe.
perf_dir() {
	dir=$check/$1
	rm -rf "$dir"
	mkdir -p "$dir"
	asan=log_path=$dir/san:detect_leaks=${perf_leaks:-0}
	ubsan=log_path=$dir/san:suppressions=$top/scripts/test/ubsan.supp
}

# perf_tests_here LABEL PERF NUMBER...: run tests on this machine; tests that lack a
# requirement here are stored in perf_skipped. With perf_leaks=1 a leak is a failure.
perf_tests_here() {
	local label=$1 perf=$2 status=0 dir asan ubsan

	shift 2
	perf_label=$label
	if [ $# = 0 ]; then
		tap_not_ok "${label}there are tests" <<<'no test has a matching name'
		return
	fi
	perf_dir "perf-tests-here-${label%: }"
	(cd "$perf_tree/tools/perf" && PATH=${perf%/*}:$PATH ASAN_OPTIONS=$asan UBSAN_OPTIONS=$ubsan \
		PERF_TEST_ALL=${perf_tests_all-} timeout 10800 perf test -v "$@") >"$dir/log" 2>&1 || status=$?
	mapfile -t perf_skipped < <(sed -nE \
		's/^ *([0-9]+)(\.[0-9]+)?: .*: Skip.*/\1/p' "$dir/log" | sort -nu)
	grep -v ': Skip' "$dir/log" >"$dir/done"
	perf_tap "$dir/done"
	if [ "$status" -lt 124 ]; then
		tap_ok "${label}they end"
	else
		tap_not_ok "${label}they end" < <(tail -n 20 "$dir/log")
	fi
}

# perf_tests LABEL PERF NUMBER...: run tests in the VM, on $perf_tests_kernel if that is set;
# with perf_tests_all=all, no check may be skipped for lack of time or tools; with
# perf_tests_all=few, less important checks are skipped
perf_tests() {
	perf_tests_run "$@"
	perf_tests_report "$1"
}

# perf_tests_run LABEL PERF NUMBER...: run the tests without reporting; may run in the background
perf_tests_run() {
	local label=$1 perf=$2 status=0 dir asan ubsan

	shift 2
	perf_dir "perf-tests${label:+-${label%: }}"
	echo "$@" >"$dir/numbers"
	# shellcheck disable=SC2016
	(cd "$dir" && "$top/scripts/vm" ${perf_tests_kernel:+--kernel "$perf_tests_kernel"} \
		--check-log --mem 3G --log console.log -- bash -c '
		perf=$1 tree=$2 work=$PWD
		export PATH=${perf%/*}:$PATH ASAN_OPTIONS=$3 UBSAN_OPTIONS=$4 PERF_TEST_ALL=$5
		shift 5
		cd "$tree/tools/perf" && perf test -v "$@" >"$work/log" 2>&1
		exit 0' perf-tests "$perf" "$perf_tree" "$asan" "$ubsan" "${perf_tests_all:-}" "$@") \
		>"$dir/vm.log" 2>&1 || status=$?
	echo "$status" >"$dir/status"
}

# perf_tests_report LABEL: report the results of perf_tests_run
perf_tests_report() {
	local label=$1 dir number

	dir=$check/perf-tests${label:+-${label%: }}
	perf_label=$label
	perf_tap "$dir/log"
	[ -n "$(cat "$dir/numbers")" ] ||
		tap_not_ok "${label}there are tests" <<<'no test has a matching name'
	for number in $(cat "$dir/numbers"); do
		grep -qsE "^ *$number[.:].*: (Ok|Skip|FAILED!)" "$dir/log" ||
			tap_not_ok "${label}test $number ends" <"$dir/vm.log"
	done
	if [ "$(cat "$dir/status")" = 0 ]; then
		tap_ok "${label}the VM ends well"
	else
		tap_not_ok "${label}the VM ends well" <"$dir/vm.log"
	fi
}
