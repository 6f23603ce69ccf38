#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# merge deferred user callchains with perf inject

# The output must be the same as a recording of callchains in place. The input
# is synthetic, so the test runs on any kernel. lib/deferred_callchain_data.py
# makes the input and explains its frames.

shelldir=$(dirname "$0")
# shellcheck source=lib/setup_python.sh
. "${shelldir}"/lib/setup_python.sh

work=$(mktemp -d /tmp/__perf_test.merge.XXXXX) || exit 1
trap 'rm -rf "${work}"' EXIT
failures=0
maker="${shelldir}/lib/deferred_callchain_data.py"

check() { # description, command...
	if "${@:2}" >"${work}/log" 2>&1
	then
		echo "$1 [ok]"
	else
		echo "$1 [FAILED]"
		head -40 "${work}/log"
		failures=$((failures + 1))
	fi
}

make_data() { # file, case, more arguments
	"${PYTHON}" "${maker}" -o "${work}/$1" "${@:3}" "$2"
}

merge() { # file, merged file, more arguments
	perf inject --merge-callchains -i "${work}/$1" -o "${work}/$2" "${@:3}" 2>"${work}/err"
}

samples() { # file
	"${PYTHON}" "${maker}" -o "${work}/$1" samples
}

# Print each sample as one line.
stacks() { # file, more arguments
	perf script --no-incomplete-frames -F comm,tid,time,ip -i "${work}/$1" "${@:2}" \
		2>/dev/null |
		awk 'BEGIN { RS = "" } { $1 = $1; print }'
}

in_time_order() { # file
	perf script -F time -i "${work}/$1" 2>/dev/null > "${work}/times" &&
	[ -s "${work}/times" ] && sort -c "${work}/times"
}

# The samples are in time order in the file itself, before a reader sorts them.
written_in_time_order() { # file
	"${PYTHON}" "${maker}" -o "${work}/$1" times > "${work}/times" &&
	[ -s "${work}/times" ] && grep -v round "${work}/times" | sort -n -c
}

# The file has no record, marker or flag of deferred callchains.
is_ordinary() { # file
	perf script -D -i "${work}/$1" > "${work}/dump" 2>/dev/null || return 1
	! grep -e CALLCHAIN_DEFERRED -e fffffffffffffd80 -e '(deferred)' "${work}/dump" &&
	! perf evlist -v -i "${work}/$1" | grep defer_ &&
	! perf report --header-only -I -i "${work}/$1" | grep defer_
}

same_stacks() { # case
	make_data deferred "$1" && merge deferred merged || return 1
	stacks deferred | sort > "${work}/before"
	stacks merged | sort > "${work}/after"
	[ -s "${work}/before" ] && diff "${work}/before" "${work}/after" &&
		in_time_order merged && written_in_time_order merged && is_ordinary merged
}

# Every byte of every sample is the same as in a recording of callchains in place.
same_bytes() { # case
	make_data deferred "$1" && make_data in_place "$1" --in-place && merge deferred merged ||
		return 1
	samples in_place > "${work}/before"
	samples merged > "${work}/after"
	[ -s "${work}/before" ] && cmp "${work}/before" "${work}/after" && is_ordinary merged
}

says() { # text
	grep -q "$1" "${work}/err" || { cat "${work}/err"; return 1; }
}

counts_what_is_cut() {
	make_data deferred huge && merge deferred merged &&
	says 'merged 20 deferred callchains, 0 incomplete' &&
	says ': 9 samples would exceed 64 KiB, cut 495 outermost frames'
}

counts_incomplete() {
	make_data deferred incomplete && merge deferred merged &&
	says 'merged 0 deferred callchains, 5 incomplete' || return 1
	# the samples in user space have one known frame
	stacks merged | grep -q '0\.014000: 55000c803000$' &&
	stacks merged | grep -q '0\.016000: 55000c805000$'
}

nothing_to_merge() {
	make_data deferred in_place && merge deferred merged && says 'no deferred callchains' &&
	samples deferred > "${work}/before" && samples merged | cmp - "${work}/before"
}

merging_twice() {
	make_data deferred random && merge deferred once && merge once twice &&
	says 'no deferred callchains' || return 1
	samples once | sort > "${work}/before"
	samples twice | sort | cmp "${work}/before" -
}

# At the end of each flush round of the input, all earlier events are written, even
# if a thread sleeps.
rounds() {
	make_data deferred sleeper && merge deferred merged || return 1
	perf script -i "${work}/merged" 2>&1 > "${work}/out" | grep 'out of order' && return 1
	written_in_time_order merged &&
	[ "$(grep -c round "${work}/times")" -gt 80 ] &&
	[ "$("${PYTHON}" "${maker}" -o "${work}/deferred" times | grep -c round)" = \
	  "$(grep -c round "${work}/times")" ]
}

# In a pipe, a waiting sample is held with all events behind it, across the ends of flush
# rounds.
rounds_of_a_pipe() {
	make_data deferred late || return 1
	perf inject -i "${work}/deferred" -o - |
		perf inject --merge-callchains -i - -o "${work}/merged" 2>/dev/null
	[ "$(perf script -D -i "${work}/merged" 2>/dev/null | grep -c FINISHED_ROUND)" = 4 ] &&
	written_in_time_order merged
}

# The record of a sleeping thread comes 99 flush rounds after its sample.
sleeper() {
	make_data deferred sleeper && merge deferred merged &&
	says 'merged 101 deferred callchains, 0 incomplete' && written_in_time_order merged
}

# Samples without a time are written when they are read, after the maps that they need.
timeless() {
	make_data deferred timeless && merge deferred merged || return 1
	perf script -F comm,ip,sym,dso -i "${work}/merged" > "${work}/out" 2>/dev/null
	grep -o 'first.so\|second.so' "${work}/out" | sort | uniq -c | tee "${work}/dsos"
	[ "$(wc -l < "${work}/dsos")" = 2 ]
}

# In a pipe, they are not held until their record is read.
timeless_piped() {
	make_data deferred timeless && perf inject -i "${work}/deferred" -o - > "${work}/pipe" &&
	perf script -F ip,sym -i - < "${work}/pipe" > "${work}/out" 2>/dev/null &&
	[ "$(grep -c 'user stack: not read yet' "${work}/out")" = 12 ]
}

# An old perf refuses attrs that are larger than its own.
small_attrs() {
	[ "$(od -A n -t u8 -j 16 -N 8 "${work}/merged")" -eq 144 ]
}

# In a pipe, an attr size of zero means PERF_ATTR_SIZE_VER0.
attrs_without_size() {
	make_data deferred basic && stacks deferred > "${work}/before" || return 1
	perf inject -i "${work}/deferred" -o - | "${PYTHON}" -c '
import struct, sys
raw, at = bytearray(sys.stdin.buffer.read()), 16
while at < len(raw):
    kind, _, size = struct.unpack_from("IHH", raw, at)
    if kind == 64:
        struct.pack_into("I", raw, at + 12, 0)
    at += size
sys.stdout.buffer.write(raw)' > "${work}/pipe"
	perf inject --merge-callchains -i - -o "${work}/piped" < "${work}/pipe" &&
	perf inject --merge-callchains -i - < "${work}/pipe" |
		perf inject -i - -o "${work}/merged" || return 1
	for file in piped merged
	do
		stacks "${file}" | diff "${work}/before" - && is_ordinary "${file}" || return 1
	done
}

pipes() { # FROM-TO, each file or pipe
	local from="${work}/deferred" to="${work}/merged"

	make_data deferred random || return 1
	stacks deferred | sort > "${work}/before"
	rm -f "${to}"
	perf inject -i "${from}" -o - > "${work}/pipe"
	case $1 in
	file-pipe) perf inject --merge-callchains -i "${from}" > "${to}" ;;
	pipe-file) cat "${work}/pipe" | perf inject --merge-callchains -i - -o "${to}" ;;
	pipe-pipe) cat "${work}/pipe" | perf inject --merge-callchains | cat > "${to}" ;;
	esac || return 1
	if [ "${1#*-}" = pipe ]
	then
		mv "${to}" "${work}/piped"
		perf inject -i - -o "${to}" < "${work}/piped" || return 1
		! grep -q defer_ <(perf script -D -i - < "${work}/piped" 2>/dev/null) || return 1
	fi
	stacks merged | sort | diff "${work}/before" - && in_time_order merged && is_ordinary merged
}

# The header features are those of the recording machine, not of this machine.
features() {
	make_data deferred mapped --mem || return 1
	perf inject --merge-callchains -i "${work}/deferred" -o - > "${work}/piped" || return 1
	perf report --header-only -I -i "${work}/deferred" | grep nrcpus > "${work}/before"
	perf report --header-only -I -i - < "${work}/piped" | grep nrcpus > "${work}/after"
	cat "${work}/before" "${work}/after"
	[ -s "${work}/before" ] && cmp "${work}/before" "${work}/after"
}

# A feature section of a file can be larger than an event, and can be empty.
odd_features() {
	make_data deferred basic --odd-features &&
	perf inject --merge-callchains -i "${work}/deferred" -o - \
		> "${work}/piped" 2>"${work}/err" &&
	says 'header feature HOSTNAME is skipped: it does not fit into an event' || return 1
	perf script -D -i - < "${work}/piped" 2>/dev/null > "${work}/dump"
	for feat in 0f 13; do
		grep -q "^\. *0000:  50 00 00 00 00 00 10 00 ${feat} 00 " "${work}/dump" || return 1
	done
}

filter() {
	make_data deferred random || return 1
	stacks deferred | sort > "${work}/before"
	perf inject -i "${work}/deferred" -o - | perf inject --merge-callchains |
		perf script -F comm,tid,time,ip -i - 2>/dev/null |
		sed 's/^\(\t *[0-9a-f]*\) .*/\1/' |
		awk 'BEGIN { RS = "" } { $1 = $1; print }' | sort | diff "${work}/before" -
}

with_option() { # option...
	make_data deferred random && merge deferred merged "$@" || return 1
	stacks deferred | sort > "${work}/before"
	stacks merged | sort | diff "${work}/before" - && in_time_order merged && is_ordinary merged
}

refuses_option() { # option...
	make_data deferred basic || return 1
	! merge deferred merged "$@" && says 'merge-callchains cannot be combined with'
}

refuses_other_byte_order() {
	local other=big

	[ "$(printf '\1\0' | od -A n -t u2)" -eq 1 ] || other=little
	make_data deferred basic --endian "${other}" || return 1
	! merge deferred merged && says 'in the byte order of another machine'
}

# These options change the callbacks of the tool, or read the guest's file with a second tool.
does_not_crash() { # option...
	make_data deferred basic || return 1
	perf inject -i "${work}/deferred" "$@" || [ "$?" -lt 128 ]
}

has_plain_inject() {
	make_data deferred basic && perf inject -i "${work}/deferred" -o "${work}/plain" &&
	perf script -D -i "${work}/plain" > "${work}/dump" 2>/dev/null &&
	[ "$(grep -c RECORD_CALLCHAIN_DEFERRED "${work}/dump")" = 3 ]
}

for case in in_place basic late incomplete foreign malformed duplicate deep reuse rich random
do
	check "${case}: stacks" same_stacks "${case}"
done
check "attrs have the size that old perfs read" small_attrs
for case in rich huge
do
	check "${case}: bytes" same_bytes "${case}"
done
check "cut to 64 KiB" counts_what_is_cut
check "incomplete" counts_incomplete
check "nothing to merge" nothing_to_merge
check "merging twice" merging_twice
check "rounds" rounds
check "rounds of a pipe" rounds_of_a_pipe
check "a thread that sleeps for long" sleeper
check "samples without a time" timeless
check "samples without a time in a pipe" timeless_piped
check "file to pipe" pipes file-pipe
check "pipe to file" pipes pipe-file
check "between pipes" pipes pipe-pipe
check "attrs without a size" attrs_without_size
check "features into a pipe" features
check "odd features into a pipe" odd_features
check "filter" filter
for option in -b --buildid-all -B --mmap2-buildid-all -j
do
	check "with ${option}" with_option "${option}"
done
check "refuses --sched-stat" refuses_option --sched-stat
check "refuses --itrace" refuses_option --itrace
check "refuses --guest-data" refuses_option --guest-data="${work}/deferred,1"
check "refuses --vm-time-correlation" refuses_option --vm-time-correlation=dry-run
check "refuses another byte order" refuses_other_byte_order
check "without the option" has_plain_inject
check "--guest-data" does_not_crash --guest-data="${work}/deferred,1" -o "${work}/plain"
check "--vm-time-correlation" does_not_crash --vm-time-correlation=dry-run

[ "${failures}" = 0 ]
