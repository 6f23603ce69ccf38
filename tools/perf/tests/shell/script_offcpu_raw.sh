#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# off-cpu samples in raw data, as perf of mainline records them

# The test reads synthetic files, so it runs on any kernel. lib/off_cpu_raw_data.py
# makes them.

shelldir=$(dirname "$0")
# shellcheck source=lib/setup_python.sh
. "${shelldir}"/lib/setup_python.sh
# shellcheck source=lib/deferred_callchain.sh
. "${shelldir}"/lib/deferred_callchain.sh

make_data() { # arguments for the data
	"${PYTHON}" "${shelldir}"/lib/off_cpu_raw_data.py -o "${work}/data" "$@"
}

samples() { # more arguments
	perf script -F comm,pid,tid,period,ip -i "${work}/data" "$@" 2>"${work}/err"
}

# A line for each sample: comm, pid/tid, period, and the frames.
expected() { # case
	local a='55003e801000 55003e801001 55003e801002' b='55003e901000 55003e901001 55003e901002'
	local c='55007d001000 55007d001001 55007d001002' d='550138901000 550138901001 550138901002'
	local e='550138701000 550138701001 550138701002'
	local b2=${b//e901/e902} c2=${c//d001/d002} d2=${d//8901/8902}

	case $1 in
	threads)
		cat <<-END
			leader 1000/1000 10000000 ${a}
			first 1000/1001 11000000 ${b}
			second 1000/2000 12000000 ${c}
			first 1000/1001 13000000 ${b}
			single 3000/3000 20000000
			second 1000/2000 500 ${c2}
			first 1000/1001 501 ${b2}
			single 3000/3000 502 5500bb802000 5500bb802001 5500bb802002
		END
		;;
	unknown)
		cat <<-END
			first 1000/1001 10000000 ${b}
			:5001 5000/5001 11000000 ${d}
			:4999 5000/4999 12000000 ${e}
			first 1000/1001 500 ${b2}
			:5001 5000/5001 501 ${d2}
		END
		;;
	anonymous)
		cat <<-END
			:5001 5000/5001 11000000 ${d}
			:4999 5000/4999 12000000 ${e}
			:5001 5000/5001 501 ${d2}
		END
		;;
	malformed)
		cat <<-END
			first 1000/1001 20000000 ${b}
			first 1000/1001 1 ${b}
		END
		;;
	esac
}

# Print each sample as one line, without [unknown] after addresses that are in no map.
lines() {
	awk 'function flush() { if (line) print line; line = "" }
	     /^$/ { next }
	     /^\t/ { line = line " " $1; next }
	     { flush(); line = $1 " " $2 " " $3 }
	     END { flush() }'
}

decoded() { # case, more arguments for the data
	make_data "$@" && samples > "${work}/out" || return 1
	lines < "${work}/out" > "${work}/lines"
	expected "$1" | diff - "${work}/lines"
}

piped() { # perf inject to a pipe and to a file, more arguments for the data
	make_data threads "$@" && perf inject -i "${work}/data" -o "${work}/injected" || return 1
	perf script -F comm,pid,tid,period,ip -i "${work}/injected" 2>/dev/null | lines |
		diff <(expected threads) - || return 1
	perf inject -i "${work}/data" -o - |
		perf script -F comm,pid,tid,period,ip,sym -i - 2>/dev/null |
		lines | diff <(expected threads) -
}

default_output() {
	make_data threads && perf script -i "${work}/data" > "${work}/out" 2>/dev/null || return 1
	head "${work}/out"
	! grep -q 'BPF output' "${work}/out" &&
	[ "$(grep -c '^[a-z]* *[123]000\? .* offcpu-time: *$' "${work}/out")" -ge 4 ] &&
	[ "$(grep -c $'^\t *55' "${work}/out")" = 21 ]
}

report() { # more arguments
	make_data threads
	perf report --stdio --no-children -s pid,comm -i "${work}/data" "$@" > "${work}/out" 2>&1
	cat "${work}/out"
	grep -q '0x55003e901000' "${work}/out" && ! grep -q '7[78]:' "${work}/out"
}

raw_dump() {
	make_data threads && perf report -D -i "${work}/data" > "${work}/out" 2>/dev/null &&
	grep -q 'PERF_RECORD_SAMPLE(IP, 0x1): 1000/2000: 0x55007d001000 period: 12000000' \
		"${work}/out" &&
	[ "$(grep -c 'FP chain: nr:4$' "${work}/out")" = 7 ]
}

cgroup() {
	make_data threads --cgroup &&
	perf report --stdio --no-children -s comm,cgroup -i "${work}/data" \
		> "${work}/out" 2>/dev/null &&
	decoded threads --cgroup
}

malformed() { # more arguments for the data
	decoded malformed "$@" || return 1
	cat "${work}/err"
	grep -q 'Skipped 23 samples of offcpu-time: invalid raw data' "${work}/err" || return 1
	perf report -D -i "${work}/data" 2>/dev/null > "${work}/out"
	[ "$(grep -c 'off-CPU sample with invalid raw data, skipped' "${work}/out")" = 23 ]
}

# Raw data that ends behind the end of its event must be refused.
too_large() { # more arguments for the data
	local rc

	make_data too_large "$@" || return 1
	samples > "${work}/out"
	rc=$?
	# perf must not be killed by a signal
	if [ ${rc} -ge 128 ] && [ ${rc} -lt 160 ]
	then
		return 1
	fi
	! grep -q $'^\t *55' "${work}/out"
}

# BPF output with another name stays raw.
other_event() {
	make_data threads --name bpf-output &&
	perf script -i "${work}/data" 2>/dev/null > "${work}/out" &&
	[ "$(grep -c 'BPF output: 0000:' "${work}/out")" = 8 ]
}

for case in threads unknown anonymous
do
	check "${case}" decoded "${case}"
	check "${case}, other byte order" decoded "${case}" --endian big
done
for case in threads unknown
do
	check "${case}, pid and tid exchanged" decoded "${case}" --exchanged
	check "${case}, pid and tid exchanged, other byte order" decoded "${case}" --exchanged \
		--endian big
done
check "cgroup" cgroup
check "perf inject" piped
check "perf inject, pid and tid exchanged" piped --exchanged
check "perf script" default_output
check "perf report" report
check "perf report -g" report -g caller
check "perf report -D" raw_dump
check "malformed" malformed
check "malformed, other byte order" malformed --endian big
check "malformed, cgroup" malformed --cgroup
check "raw data behind the event" too_large
check "raw data behind the event, other byte order" too_large --endian big
check "other event" other_event

[ "${failures}" = 0 ]
