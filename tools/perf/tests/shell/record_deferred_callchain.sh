#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf record with deferred user callchains

# shellcheck source=lib/deferred_callchain.sh
. "$(dirname "$0")"/lib/deferred_callchain.sh

data=${work}/perf.data
event=cpu-clock

record() {
	perf record -q -o "${data}" "$@" 2>"${work}/err"
}

flags() { # flag: the number of events that have it
	perf evlist -v -i "${data}" 2>/dev/null | grep -c "$1: 1"
}

count() { # what
	perf report --stats -i "${data}" 2>/dev/null |
		awk -v what=" $1:" 'index(" " $0, what) { print $NF; exit }'
}

refused() { # call-graph argument
	! perf record -q -o "${data}" -e "${event}" --call-graph "$1" true 2>"${work}/err" &&
	grep -q 'can be deferred, not' "${work}/err"
}

# Commas separate the terms of an event.
term_refused() {
	! perf record -o "${data}" -e "${event}/call-graph=fp,defer/" true 2>"${work}/err" &&
	grep -q '^Use call-graph=defer' "${work}/err"
}

# perf record warns once, whatever the number of events, and sets no flag of deferral.
falls_back() { # arguments of perf record
	perf record -o "${data}" --call-graph fp,defer "$@" -- true 2>"${work}/err" || return 1
	cat "${work}/err"
	[ "$(grep -c 'cannot defer user callchains' "${work}/err")" = 1 ] &&
	[ "$(flags defer_callchain)" = 0 ] && [ "$(flags defer_output)" = 0 ]
}

# perf top warns once, and still shows samples.
top_falls_back() {
	local top

	new_keys || return 1
	perf top --stdio -d 1 -e "${event}" --call-graph fp,defer \
		<&3 > "${work}/out" 2>&1 & top=$!
	wait_until "${top}" grep -q ' [1-9][0-9.]*%' "${work}/out"
	kill "${top}"
	wait "${top}"
	head -20 "${work}/out"
	[ "$(grep -c 'cannot defer user callchains' "${work}/out")" = 1 ] &&
	grep -q ' [1-9][0-9.]*%' "${work}/out"
}

# Print the number of entry contexts (stays in the kernel) without a record.
without_record() {
	perf script --no-merge-callchains -F tid,time,event,ip,sym -i "${data}" 2>/dev/null |
		tr -d ']' |
		awk '$2 == "(cookie)" { asked[tid " " $1]; next }
		     /^ / { tid = $1 }
		     / DEFERRED CALLCHAIN \[cookie: / { has[tid " " $NF] }
		     END { for (stay in asked) n += !(stay in has); print n + 0 }'
}

# At least 98 % of the deferred samples are stitched.  Fewer are accepted if at most one
# entry context per CPU has no record: on each CPU, an entry context may be open when
# recording ends, and on a stalled machine it may have many samples.
complete() {
	local samples stitched
	samples=$(count 'deferred samples')
	stitched=$(count stitched)
	echo "${stitched} of ${samples} stitched, $(without_record) entry contexts without a record"
	[ "${samples:-0}" -gt 0 ] || return 1
	[ $((stitched * 100)) -ge $((samples * 98)) ] ||
		{ [ "$(without_record)" -le "$(nproc)" ] && [ "${stitched}" -gt 100 ]; }
}

flags_are() { # defer_callchain, defer_output, arguments of perf record
	record "${@:3}" || return 1
	perf evlist -v -i "${data}"
	[ "$(flags defer_callchain)" = "$1" ] && [ "$(flags defer_output)" = "$2" ]
}

complete_with() { # arguments as for flags_are
	flags_are "$@" && complete
}

# Print the CPU time of a process, in ticks.
cpu_time() { # pid
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}

has_run() { # pid, CPU time
	[ "$(cpu_time "$1")" -ge "$2" ]
}

# A workload that ends when a process has used a second of CPU time since the workload began.
see_running() { # pid
	wait_until "$1" has_run "$1" $(($(cpu_time "$1") + $(getconf CLK_TCK)))
}
export -f wait_until cpu_time has_run see_running

# Start a process that runs until it is killed.
run() {
	perf test -w noploop 1000000 & pids+=($!)
}

process() { # arguments of perf record: record a running process
	local pids=() pid status=0

	run
	pid=${pids[0]}
	record -e "${event}" --call-graph defer "$@" "${pid}" -- \
		bash -c "see_running ${pid}" || status=1
	kill -KILL "${pid}"
	wait "${pid}" 2>/dev/null
	complete && return "${status}"
}

leaf_in_parent() {
	record -e "${event}" --call-graph fp,defer perf test -w leafloop || return 1
	perf script -F comm,ip,sym -i "${data}" 2>/dev/null > "${work}/out"
	grep -A1 ' leaf$' "${work}/out" | grep -q ' parent$'
}

# At least one sample has both halves: a system call and its caller.
crosses() {
	record -e "${event}" --call-graph fp,defer -- \
		dd if=/dev/zero of=/dev/null bs=64k count=20000 || return 1
	complete || return 1
	perf script -F comm,ip -i "${data}" 2>/dev/null |
		awk '/^$/ { kernel = 0 } /^\t *ffff/ { kernel = 1 }
		     /^\t/ && !/^\t *ffff/ && !/\[/ && kernel { found++ } END { exit !found }'
}

piped() {
	perf record -q -o - -e "${event}" --call-graph fp,defer perf test -w leafloop 2>/dev/null |
		perf script -i - 2>/dev/null > "${work}/out"
	grep -A1 ' leaf' "${work}/out" | grep -q ' parent'
}

merged_from_pipe() { # arguments of perf record
	perf record -q -o - -e "${event}" --call-graph fp,defer "$@" \
		perf test -w leafloop 2>/dev/null |
		perf inject --merge-callchains -o "${work}/merged" || return 1
	perf script -i "${work}/merged" 2>/dev/null > "${work}/out"
	grep -A1 ' leaf' "${work}/out" | grep -q ' parent'
}

converts() {
	record -e "${event}" --call-graph fp,defer perf test -w leafloop || return 1
	perf data convert --to-json "${work}/json" --force -i "${data}" || return 1
	grep -q '"leaf"' "${work}/json" && grep -q '"parent"' "${work}/json" &&
	! grep -q 0xfffffffffffffd80 "${work}/json"
}

injects() {
	record -e "${event}" --call-graph fp,defer perf test -w leafloop || return 1
	perf inject -b -i "${data}" -o "${work}/injected" || return 1
	perf script -i "${data}" > "${work}/before" 2>/dev/null || return 1
	perf script -i "${work}/injected" 2>/dev/null | diff "${work}/before" -
}

# Only the process in the cgroup is sampled, not the process outside.
cgroup() { # mount point
	local group=$1/perf_deferred pids=() status=0

	# cgroups get the perf_event controller when the first controller is enabled.
	grep -q pids "$1/cgroup.subtree_control" ||
		echo +pids > "$1/cgroup.subtree_control" || return 1
	mkdir -p "${group}" || return 1
	run
	run
	echo "${pids[0]}" > "${group}/cgroup.procs" &&
	flags_are 1 1 -a -e "${event}" --call-graph defer -G perf_deferred -- \
		bash -c "see_running ${pids[0]}" &&
	complete || status=1
	kill -KILL "${pids[@]}"
	wait "${pids[@]}" 2>/dev/null
	rmdir "${group}"
	perf script -F pid -G -i "${data}" 2>/dev/null | sort | uniq -c > "${work}/out"
	echo "in: ${pids[0]}, not in: ${pids[1]}"
	cat "${work}/out"
	[ "$(awk '{ print $2 }' "${work}/out")" = "${pids[0]}" ] && return "${status}"
}

# perf record -vv prints the flags that it sets in the attr.
says_flags() {
	perf record -vv -o "${data}" -e "${event}" --call-graph defer -- true \
		> "${work}/err" 2>&1 || return 1
	grep -E '^ *defer_callchain +1$' "${work}/err" &&
	grep -E '^ *defer_output +1$' "${work}/err"
}

configured() { # record-mode, arguments as for flags_are
	printf '[call-graph]\n\trecord-mode = %s\n' "$1" > "${work}/config"
	PERF_CONFIG=${work}/config flags_are "${@:2}"
}

config_refused() { # record-mode
	! configured "$1" 0 0 -g -e "${event}" true && cat "${work}/err" &&
	grep -q 'can be deferred, not' "${work}/err"
}

privileged() {
	[ "$(id -u)" = 0 ]
}

# Recognize a kernel of the series by a symbol: if this kernel rejects the flags, tests must fail.
# On other kernels, try the flags.
kernel_defers() {
	grep -q ' perf_callchain_deferred$' /proc/kallsyms ||
	{ record -e "${event}" --call-graph fp,defer true && [ "$(flags defer_callchain)" != 0 ]; }
}

check "dwarf,defer is refused" refused dwarf,defer
check "lbr,defer is refused" refused lbr,defer
check "event term fp,defer is refused" term_refused

if ! privileged && ! record -e "${event}" --call-graph fp true
then
	[ "${failures}" = 0 ] || exit 1
	echo "Skip: not allowed to record"
	exit 2
fi

if ! kernel_defers
then
	check "fallback" falls_back -e "${event}"
	check "fallback of two events" falls_back -e "${event},task-clock"
	privileged && check "fallback with -a" falls_back -a -e "${event}"
	privileged && check "fallback of perf top" top_falls_back
	check "stacks in place" leaf_in_parent
	[ "${failures}" = 0 ]
	exit
fi

workload="perf test -w thloop 1"
check "fp,defer" complete_with 1 1 -e "${event}" --call-graph fp,defer ${workload}
check "defer" complete_with 1 1 -e "${event}" --call-graph defer ${workload}
check "event term" complete_with 1 1 -e "${event}/call-graph=defer/" ${workload}
check "two events" complete_with 2 1 -e "${event},task-clock" --call-graph defer ${workload}
check "one event of two" flags_are 1 1 -e "${event}/call-graph=no/,task-clock" \
	--call-graph defer ${workload}
check "group" complete_with 2 1 -e "{${event},task-clock}" --call-graph defer ${workload}
privileged && check "-a" complete_with 1 1 -a -e "${event}" --call-graph defer ${workload}
privileged && check "-C 0" complete_with 1 1 -C 0 -e "${event}" --call-graph defer ${workload}
# records go into the event's buffer, which is read when recording ends, and into no other
privileged && check "-a, overwritable" complete_with 1 1 -a -e "${event}/overwrite/" \
	--call-graph defer ${workload}
check "--per-thread" complete_with 1 1 --per-thread -e "${event}" --call-graph defer ${workload}
check "-z" complete_with 1 1 -z -e "${event}" --call-graph defer ${workload}
check "-p" process -p
check "-t" process -t
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if privileged && [ -n "${cgroups}" ]
then
	check "-G" cgroup "${cgroups}"
elif [ "${PERF_TEST_ALL:-}" = all ]
then
	check "-G needs root and a cgroup2" false
fi
check "-vv" says_flags
check "--kernel-callchains" flags_are 0 0 -e "${event}" --call-graph defer \
	--kernel-callchains ${workload}
check "fp" flags_are 0 0 -e "${event}" --call-graph fp ${workload}
check "perfconfig" configured fp,defer 1 1 -g -e "${event}" ${workload}
check "perfconfig, defer" configured defer 1 1 -g -e "${event}" ${workload}
check "perfconfig, lbr,defer is refused" config_refused lbr,defer
check "perfconfig, overridden" configured fp,defer 0 0 --call-graph fp -e "${event}" ${workload}
check "stacks" leaf_in_parent
privileged && check "kernel and user" crosses
check "pipe" piped
check "perf inject --merge-callchains from a pipe" merged_from_pipe
check "perf inject --merge-callchains from a compressed pipe" merged_from_pipe -z
check "perf data convert" converts
check "perf inject" injects

[ "${failures}" = 0 ]
