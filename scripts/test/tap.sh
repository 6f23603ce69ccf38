# shellcheck shell=bash
# Functions with which the groups in scripts/check.d print TAP. They need lib.sh.

tap_n=0
tap_bad=0
# prefix of the names of the tests
tap_label=
[ "${PERF_DEFERRED_DEBUG-}" != 1 ] || tap_label='debug: '

# tap NAME CMD...: run one test; it passes if CMD succeeds; else its output is shown
tap() {
	local name=$1 log

	shift
	log=$(mktemp "$check/.tap.XXXXXX")
	if "$@" >"$log" 2>&1; then
		tap_ok "$name"
	else
		tap_not_ok "$name" <"$log"
	fi
	rm -f "$log"
}

# quiet CMD...: check that CMD succeeds without output
quiet() {
	local log

	log=$("$@" 2>&1) || { echo "$log"; return 1; }
	[ -z "$log" ] || { echo "$log"; return 1; }
}

tap_ok() {
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $tap_label$1"
}

# tap_not_ok NAME: report a failure, with its description on stdin
tap_not_ok() {
	tap_n=$((tap_n + 1))
	tap_bad=1
	echo "not ok $tap_n - $tap_label$1"
	tail -n 40 | sed 's/^/# /'
}

# may_skip NAME: may this test be skipped? If not, a skipped test counts as failed. Here every test
# may be skipped; groups override this
may_skip() {
	:
}

# tap_skip NAME WHY: report a skipped test
tap_skip() {
	if ! may_skip "$1"; then
		tap_not_ok "$1" <<<"skipped${2:+: $2}"
		return
	fi
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $tap_label$1 # SKIP $2"
}

# tap_take PREFIX LINE: take over the result of one test. The name of the test is before
# SKIP or, as in kselftests, after SKIP.
tap_take() {
	local name

	[[ $2 =~ ^((not )?ok)\ +[0-9]*\ *-?\ *(.*)$ ]]
	name=${BASH_REMATCH[3]}
	if [ "${BASH_REMATCH[1]}" = 'not ok' ]; then
		tap_not_ok "$1: $name" </dev/null
	elif [[ $name =~ ^(.*[^ ])?\ *'# '[Ss][Kk][Ii][Pp]\ *(.*)$ ]]; then
		if [ -n "${BASH_REMATCH[1]}" ]; then
			tap_skip "$1: ${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
		else
			tap_skip "$1: ${BASH_REMATCH[2]}" ''
		fi
	else
		tap_ok "$1: $name"
	fi
}

# tap_add PREFIX STATUS FILE: take over the TAP of a program, which exited with STATUS; a
# plan of no tests means that all were skipped
tap_add() {
	local prefix=$1 status=$2 file=$3 line seen=0 bad=0 plan='' why=''

	while IFS= read -r line; do
		case $line in
		'ok '*|'not ok '*)
			seen=$((seen + 1))
			case $line in not*) bad=1 ;; esac
			tap_take "$prefix" "$line"
			;;
		1..*)
			plan=${line#1..}
			plan=${plan%%[!0-9]*}
			why=${line#*# SKIP }
			;;
		*)
			echo "# $line"
			;;
		esac
	done <"$file"
	if [ "$seen $plan" = '0 0' ] && { [ "$status" = 0 ] || [ "$status" = 4 ]; }; then
		tap_skip "$prefix" "$why"
	elif [ "$status" != 0 ] && [ "$bad" = 0 ]; then
		tap_not_ok "$prefix ends well" <<<"exit status $status"
	elif [ "${plan:-0}" != "$seen" ]; then
		tap_not_ok "$prefix runs all its tests" <<<"$seen of ${plan:-no} planned tests ran"
	fi
}

# tap_end: print the plan; the last command of a group
tap_end() {
	echo "1..$tap_n"
	exit "$tap_bad"
}

mkdir -p "$check"
