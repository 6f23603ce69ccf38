#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf record --off-cpu: samples of waits, written when the waits end

# shellcheck source=lib/deferred_callchain.sh
. "$(dirname "$0")"/lib/deferred_callchain.sh
# shellcheck source=lib/off_cpu_programs.sh
. "$(dirname "$0")"/lib/off_cpu_programs.sh

data=${work}/perf.data

[ "$(id -u)" = 0 ] || { echo "Skip: not root"; exit 2; }
has_feature bpf_skeletons || { echo "Skip: no BPF skeletons"; exit 2; }
command -v cc >/dev/null || { echo "Skip: no compiler"; exit 2; }
began=${SECONDS}
perf record -q --off-cpu -e dummy -o "${data}" true 2>"${work}/err" || {
	cat "${work}/err"
	echo "Skip: time off the CPU cannot be measured"
	exit 2
}
# PERF_TEST_ALL=few runs only the main tests. PERF_TEST_ALL=all requires every test.
# Otherwise long tests are skipped on a slow machine.
is_slow=$((SECONDS - began >= 4))
case ${PERF_TEST_ALL:-} in
	all)	few=0 ;;
	few)	few=1 ;;
	*)	few=${is_slow} ;;
esac
# a copy of standard output: check() redirects the output of a test to its log
exec 3>&1

make_waits || exit 1

# One line for each sample: name, thread, nanoseconds, then the symbols of the stack.
samples() { # file
	perf script -F comm,tid,event,period,ip,sym -i "$1" 2>"${work}/script.err" |
		awk '/^\t/ { if (line && sub(/^\t *[0-9a-f]+ /, "")) {
				sub(/ .*/, ""); line = line " " $0 }; next }
		     NF { if (line) print line
			  line = /offcpu-time/ ? $1 " " $2 " " $3 : "" }
		     END { if (line) print line }' >"${work}/samples"
	! grep -i 'out of order' "${work}/script.err"
}

show_samples() {
	samples "${data}" && cat "${work}/samples"
}

# Exit status of a check if only times are wrong, as on a machine that has stalled.
differs=3

awk_off='function off(a, b) { return a > b ? a - b : b - a } '

end() { # pids...
	kill -9 "$@"
	wait "$@" 2>/dev/null
}

# Wait until process ${pid} has printed all these words.
wait_for() { # words...
	local word

	for word
	do
		wait_until "${pid}" grep -q "${word}" "${work}/ready" || return 1
	done
}

# Wait until all these processes are in nanosleep().
wait_asleep() { # pids...
	local pid

	for pid
	do
		wait_until "${pid}" grep -q nanosleep "/proc/${pid}/wchan" || return 1
	done
}

# Print how often the threads of a process have waited.
waits() { # pid
	cat "/proc/$1"/task/*/status |
		awk '$1 == "voluntary_ctxt_switches:" { n += $2 } END { print n + 0 }'
}

has_waited() { # pid, number
	[ "$(waits "$1")" -ge "$2" ]
}

# Wait until each of these processes has waited this number of times more.
wait_more() { # number, pids...
	local nr=$1 pid goals=()

	shift
	for pid
	do
		goals[pid]=$(($(waits "${pid}") + nr))
	done
	for pid
	do
		wait_until "${pid}" has_waited "${pid}" "${goals[pid]}" || return 1
	done
}
export -f wait_until waits has_waited wait_more

# Each wait has exactly one sample, with the same name, thread and period.
waits_match() {
	awk -v differs="${differs}" "${awk_off}"'
	FNR == NR { if ($1 == "wait") { n++; name[n] = $2; tid[n] = $3; ns[n] = $4 }; next }
	{ for (i = 1; i <= n; i++)
		if (!seen[i] && $1 == name[i] && $2 == tid[i] &&
		    off($3, ns[i]) <= (ns[i] / 100 > 1000000 ? ns[i] / 100 : 1000000)) {
			seen[i] = 1; found++; next } }
	$3 >= 500000000 { other[$1 " " $2] = $3 }
	{ print }
	END { status = !(n >= 5)
	      for (i = 1; i <= n; i++) if (!seen[i]) {
		late = other[name[i] " " tid[i]]
		print "no sample:", name[i], tid[i], ns[i], late ? "but " late : ""
		if (!late || off(late, ns[i]) > 100000000) status = 1
		else if (!status) status = differs }
	      exit status }' "${work}/said" "${work}/samples"
}

# The waits of a thread add up to the time that the thread prints, within 1 %. The printed
# time is larger if the thread was preempted, because preemption is not a wait. Since glibc 2.41,
# one function makes the system calls of all waits, and a stack in place may end there.
sums_match() {
	awk -v differs="${differs}" "${awk_off}"'
	BEGIN { place["sleeper"] = place["shorty"] = "nanosleep"
		place["poller"] = "__poll|sys_poll"
		place["conder"] = "futex" }
	FNR == NR { if ($1 == "sum") { said[$2] = $4; ready[$2] = $5; n++ }; next }
	$1 in place && ($0 ~ place[$1] || $4 == "__syscall_cancel_arch") { sum[$1] += $3 }
	END { for (name in said) {
		print name, said[name], sum[name], ready[name]
		if (sum[name] - said[name] > 100000000 ||
		    said[name] - sum[name] > 100000000 + ready[name]) bad++
		if (off(said[name], sum[name]) > said[name] / 100) late++ }
	      exit (n != 4 || bad) ? 1 : (late ? differs : 0) }' "${work}/said" "${work}/samples"
}

# Every wait that has a sample of its own has a deferred callchain, with the whole stack
# from the function that waits to the start of the thread or to main().
stacks_are_whole() {
	awk 'BEGIN { place["sleeper"] = "in_sleep do_job work start_thread [^ ]*clone3?"
		place["poller"] = "in_poll do_job work start_thread [^ ]*clone3?"
		place["conder"] = "in_cond do_job work start_thread [^ ]*clone3?"
		place["waits"] = "main (__libc_start_call_main )?__libc_start_main[^ ]* _start" }
	$1 in place && / entry_SYSCALL_64_after_hwframe( |$)/ {
		n++
		if ($0 !~ (" " place[$1] "$")) { print; bad++ } }
	END { exit !(n >= 6 && !bad) }' "${work}/samples"
}

# Store the messages of perf, without its status lines, and print them if perf failed.
complaints() { # status, file
	grep -v '^\[ perf record: ' "$2" >"${work}/err"
	[ "$1" = 0 ] || cat "${work}/err"
	return "$1"
}

# The command that runs perf, if set.
within=()

record() { # arguments of perf record
	"${within[@]}" perf record --off-cpu -o "${data}" "$@" >"${work}/said" 2>"${work}/all_err"
	complaints $? "${work}/all_err"
}

measures_once() { # arguments of perf record
	record "$@" "${prog}" && samples "${data}" && waits_match && sums_match
}

# If a virtual machine stalls for a moment, this time counts as waiting or as running, so times
# can differ. Such stalls are rare, so try again.
again() { # command...
	local try status tries=$((is_slow ? 9 : 5))

	for ((try = 1; try <= tries; try++))
	do
		"$@"
		status=$?
		[ "${status}" = "${differs}" ] || return "${status}"
		echo "$* [times differ, try ${try} of ${tries}]" >&3
	done
	return 1
}

measures() { # arguments of perf record
	again measures_once "$@"
}

deferred() { # arguments of perf record
	measures -e dummy --call-graph defer "$@" && stacks_are_whole &&
	perf report --stats -i "${data}" 2>/dev/null | grep -q 'incomplete: *0$'
}

# Attach to a process whose threads start later, or to a sleeping thread.
attached_once() { # option
	"${prog}" 10000000 >"${work}/said" & local pid=$!
	wait_asleep "${pid}"
	start_perf --call-graph defer "$1" "${pid}"
	sleep 0.7
	kill -USR1 "${pid}"
	wait "${pid}"
	stop_perf || return 1
	show_samples || return 1
	grep -q '^waits .* in_sleep main .*_start$' "${work}/samples" || return 1
	[ "$1" = -t ] || { waits_match && sums_match; }
}

deferred_attached() { # option
	again attached_once "$1" || return 1
	[ "$1" = -t ] || stacks_are_whole
}

with_other_event() {
	measures -e cpu-clock -F 99 --call-graph defer && stacks_are_whole
}

# the innermost user function of a sleep, before and since glibc 2.41
in_libc='(nanosleep|__syscall_cancel_arch)'

# With dwarf and lbr, the samples of waits and sums have no copy of the stack and no branches:
# their user stacks are unwound by frame pointers.
in_place_instead_of() { # a method of --call-graph
	measures -e dummy --call-graph "$1" || return 1
	grep '^s[lh]' "${work}/samples"
	grep -qE "^sleeper .*nanosleep.* entry_SYSCALL_64_after_hwframe .*${in_libc}" \
		"${work}/samples" &&
	grep -qE "^shorty [0-9]* [0-9]* [^ ]*${in_libc}" "${work}/samples"
}

without_user_half() { # arguments of perf record
	record -e dummy --kernel-callchains "$@" "${prog}" && samples "${data}" || return 1
	grep '^s[lh]' "${work}/samples"
	grep -q '^sleeper .*nanosleep.* entry_SYSCALL_64_after_hwframe$' "${work}/samples" &&
	! grep -q '^s[lh].* entry_SYSCALL_64_after_hwframe ' "${work}/samples"
}

# If the kernel cannot defer callchains, or cannot defer those of waits, perf prints one
# warning.
falls_back() {
	perf record --off-cpu -e dummy --call-graph defer -o "${data}" "${prog}" \
		>"${work}/said" 2>"${work}/err" || return 1
	cat "${work}/err"
	[ "$(grep -c WARNING "${work}/err")" = 1 ] && grep -q 'taken in place' "${work}/err" &&
	samples "${data}" && waits_match && sums_match &&
	grep -qE "^sleeper .*nanosleep.* entry_SYSCALL_64_after_hwframe .*${in_libc}" \
		"${work}/samples"
}

piped() { # options
	perf record -q --off-cpu -e dummy "$@" -o - sh -c "${prog} >${work}/said" >"${work}/pipe" \
		2>"${work}/err" && samples "${work}/pipe" && waits_match && sums_match
}

switched() { # options
	rm -f "${work}"/many* "${work}/all"
	perf record -q --off-cpu -e dummy --switch-output=1s --no-buildid "$@" -o "${work}/many" \
		"${prog}" >"${work}/said" 2>"${work}/err" || return 1
	for file in "${work}"/many*
	do
		samples "${file}" || return 1
		cat "${work}/samples" >>"${work}/all"
	done
	cat "${work}/all"
	set -- "${work}"/many*
	[ $# -ge 2 ] || return "${differs}"
	# a thread may exit just when a new file begins, so a few threads may have no name
	awk '/^:/ { n += !seen[$2]++ } END { exit n > 2 }' "${work}/all" || return "${differs}"
	awk 'FNR == NR { name[$3] = $2; next } $2 in name { $1 = name[$2] } { print }' \
		"${work}/said" "${work}/all" >"${work}/samples"
	waits_match && sums_match
}

# A task sleeps from before recording to after it: only the time of the recording counts.
asleep() { # option
	local from to

	sleep 1000000 & local pid=$!
	wait_asleep "${pid}"
	from=$(cut -d ' ' -f 1 /proc/uptime)
	record -e dummy "$1" "${pid}" -- sleep 2
	to=$(cut -d ' ' -f 1 /proc/uptime)
	end "${pid}"
	show_samples || return 1
	awk -v most="$(awk "BEGIN { print (${to} - ${from}) * 1e9 }")" '
		$1 == "sleep" { n++; sum += $3 }
		END { exit !(n == 1 && sum > 1900000000 && sum < most + 20000000) }' \
		"${work}/samples"
}

# The storage of a task is made when the task is created, or before recording begins.
no_switch_allocates() { # arguments of perf record
	make_junk || return 1
	perf record -v --off-cpu --off-cpu-thresh 0 -e dummy -o "${data}" "$@" -- sh -c "
		for i in 1 2 3 4 5 6 7 8; do sleep 0.1 & done; wait
		${junk} 0 && echo the sums are there" > "${work}/err" 2>&1
	grep 'had no storage\|Lost\|sums' "${work}/err"
	grep -q 'the sums are there' "${work}/err" &&
	grep -q '^off-cpu: 0 tasks had no storage' "${work}/err"
}

# Storage also exists for a task that is moved into a recorded cgroup during the recording.
no_switch_allocates_moved() { # mount point
	local cgroup=$1/perf_off_cpu pid status=0

	control_events "$1" && mkdir -p "${cgroup}" || return 1
	"${prog}" turns 1 >"${work}/ready" & pid=$!
	wait_for ready
	# shellcheck disable=SC2016
	perf record -v --off-cpu --off-cpu-thresh 0 -a -e dummy --cgroup perf_off_cpu \
		-o "${data}" -- bash -c 'wait_more 10 "$1"; echo "$1" >"$2/cgroup.procs"
			wait_more 30 "$1"' bash "${pid}" "${cgroup}" >"${work}/err" 2>&1 || status=1
	end "${pid}"
	rmdir "${cgroup}"
	grep 'had no storage\|Lost' "${work}/err"
	grep -q '^off-cpu: 0 tasks had no storage' "${work}/err" || status=1
	perf script -F pid,event,period -G -i "${data}" >"${work}/pids" || status=1
	[ "$(grep -c "^ *${pid} .*offcpu-time" "${work}/pids")" -ge 5 ] || status=1
	return "${status}"
}

everything() { # threshold 0: no sums
	record -e dummy --off-cpu-thresh 0 "${prog}" && samples "${data}" && waits_match &&
	sums_match && ! perf report -D -i "${data}" 2>/dev/null | grep -q 'SAMPLE(IP, 0x2)'
}

all_summed_up() {
	record -e dummy --off-cpu-thresh 86400000 "${prog}" && samples "${data}" && sums_match &&
	! perf report -D -i "${data}" 2>/dev/null | grep -q 'SAMPLE(IP, 0x1)'
}

# Samples of sums have the cpumode of user space (0x2). Samples of single waits have the cpumode
# of the kernel (0x1). On a machine that stalls, a short wait can become a long one.
two_kinds() {
	local own

	record -e dummy "${prog}" || return 1
	perf report -D -i "${data}" 2>/dev/null | grep PERF_RECORD_SAMPLE >"${work}/dump"
	own=$(grep -c 'SAMPLE(IP, 0x1)' "${work}/dump")
	echo "${own} single waits"
	[ "${own}" -ge 6 ] && grep -q 'SAMPLE(IP, 0x2)' "${work}/dump" || return 1
	[ "${own}" = 6 ] || return "${differs}"
}

nothing_unknown() {
	record -e dummy "${prog}" && samples "${data}" || return 1
	! grep '^:' "${work}/samples"
}

short_lived() {
	record -a -e dummy --off-cpu-thresh 0 \
		sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.05; done' &&
	samples "${data}" || return 1
	[ "$(grep -c '^sleep .*nanosleep' "${work}/samples")" -ge 8 ] &&
	! grep '^:' "${work}/samples"
}

# The stack of a wait in main() has all frames, from the innermost to the outermost.
main_is_whole() {
	record -e dummy --call-graph defer "${prog}" 700 && show_samples || return 1
	grep -q '^waits .* in_sleep main .*_start$' "${work}/samples"
}

# Each wait ends at the time that its thread prints, and is within the
# recording.
times_match() {
	local from to

	from=$(cut -d ' ' -f 1 /proc/uptime)
	record -k CLOCK_MONOTONIC -e dummy "${prog}" || return 1
	to=$(cut -d ' ' -f 1 /proc/uptime)
	perf script --ns -F tid,time,period,event -G -i "${data}" | tr -d : >"${work}/times"
	cat "${work}/said" "${work}/times"
	awk -v from="${from}" -v to="${to}" '
	FNR == NR { if ($1 == "wait") { n++; tid[n] = $3; begin[n] = $5; end[n] = $6 }; next }
	{ if ($2 < from - 0.02 || $2 > to + 0.02) bad++
	  for (i = 1; i <= n; i++)
		if (!seen[i] && $1 == tid[i] && $3 > 500000000 &&
		    $2 * 1e9 - $3 > begin[i] - 1000 && $2 * 1e9 < end[i]) {
			seen[i] = 1; found++; break } }
	END { exit !(n >= 5 && found == n && !bad) }' "${work}/said" "${work}/times"
}

# Start a process with many threads, run the command with its pid, and kill the process.
beside() { # mode, number, command...
	local pid status=0

	"${prog}" "$1" "$2" >"${work}/ready" & pid=$!
	wait_for ready
	"${@:3}" "${pid}" || status=1
	end "${pid}"
	return "${status}"
}

all_in_nanosleep() { # pid
	! grep -L nanosleep "/proc/$1"/task/*/wchan | grep -q .
}

all_asleep() { # options..., pid
	wait_until "${!#}" all_in_nanosleep "${!#}" || return 1
	record -e dummy -p "${!#}" -m 16 --no-buildid "${@:1:$#-1}" -- sleep 1 &&
	samples "${data}" || return 1
	cat "${work}/err"
	! grep Lost "${work}/err" && [ "$(grep -c '^waits .*nanosleep' "${work}/samples")" = 601 ]
}

# In a PID namespace, the program prints and perf records the tids of the namespace.
in_namespace() {
	local within=(unshare -pf --mount-proc)

	measures -e dummy && measures -a -e dummy && ! grep '^:' "${work}/samples" || return 1
	if [ -n "${can_defer}" ]
	then
		deferred && deferred -a || return 1
	fi
	# shellcheck disable=SC2016
	unshare -pf --mount-proc sh -c 'sleep 1000000 &
		until grep -q nanosleep /proc/$!/wchan; do sleep 0.1; done
		exec "$@" -p $! -- sleep 1' sh \
		perf record --off-cpu -e dummy -o "${data}" 2>"${work}/all_err"
	complaints $? "${work}/all_err" && samples "${data}" || return 1
	cat "${work}/err" "${work}/samples"
	awk '$1 == "sleep" && $2 < 10 { n++; sum += $3 }
	     END { exit !(n == 1 && sum > 900000000) }' "${work}/samples"
}

# Threads exit shortly before recording ends, at its end, or later. Each of their sums is written
# once. Waits of one place have two sums if the stack in place is longer once its rules are known.
half_left() { # pid
	local threads=("/proc/$1"/task/*)

	[ ${#threads[@]} -le 50 ]
}

leave_at_end() { # pid
	# no wait gets a sample of its own, even if the machine stalls
	start_perf -p "$1" --no-buildid --off-cpu-thresh 86400000 || return 1
	kill -USR1 "$1"
	wait_until "$1" half_left "$1"
	stop_perf
	perf script -F tid,event,ip,sym -i "${data}" | awk '
		/offcpu-time/ { if (tid) print tid, stack; tid = $1; stack = ""; next }
		NF { stack = stack " " $1 " " $2 }
		END { print tid, stack }' >"${work}/places"
	cat "${work}/err"
	! grep Lost "${work}/err" &&
	awk 'FNR == NR { if ($1 == "leaver") is[$2] = 1; next }
	     $1 in is && $3 ~ /nanosleep|__syscall_cancel_arch/ { n[$1]++
			if (sums[$0]++) { print "twice:", $0; twice++ } }
	     END { for (tid in is) {
			all++
			if (n[tid]) found++; else print tid, "has no sum" }
		   print found, "of", all
		   exit !(all == 100 && found == all && !twice) }' "${work}/ready" "${work}/places"
}

# All waits of a thread with the same stack are in one sum.
sums_are_whole() {
	record -e dummy "${prog}" both 5 || return 1
	perf script -F tid,period,event,ip,sym -i "${data}" | awk '
		/offcpu-time/ { tid = $1; period = $2; getline; print tid, period, $2 }' |
		tee "${work}/places"
	awk '$2 > 300000000 && $3 ~ /nanosleep|poll/ {
		if ($3 ~ /nanosleep/) slept[$1]++; else polled[$1]++ }
	     END { for (tid in polled) {
			n++
			if (polled[tid] != 1 || slept[tid] != 1) bad++ }
		   exit !(n == 5 && !bad) }' "${work}/places"
}

# Make sure that cgroups have the perf_event controller. In version 2, it is enabled together
# with the first other controller. In version 1, it has its own tree.
control_events() { # mount point
	[ ! -e "$1/cgroup.subtree_control" ] ||
		grep -q pids "$1/cgroup.subtree_control" ||
		echo +pids >"$1/cgroup.subtree_control"
}

# Three processes that sleep and poll in turn: one in the recorded cgroup, one two levels
# below it, and one outside.
in_cgroup() { # mount point
	local root=$1 pid pids=() status=0

	control_events "${root}" || return 1
	mkdir -p "${root}/perf_off_cpu/below/it" || status=1
	for _ in 1 2 3
	do
		"${prog}" turns 1 >"${work}/ready" & pid=$!
		pids+=("${pid}")
		wait_for ready
	done
	echo "${pids[0]}" >"${root}/perf_off_cpu/cgroup.procs" || status=1
	echo "${pids[1]}" >"${root}/perf_off_cpu/below/it/cgroup.procs" || status=1
	record -a -e cpu-clock -F 99 --cgroup perf_off_cpu --all-cgroups "${@:2}" -- \
		bash -c "wait_more 50 ${pids[*]}" &&
	samples "${data}" &&
	perf script -F pid,event,period -G -i "${data}" >"${work}/pids" &&
	perf report --no-children -g none -s cgroup -i "${data}" >"${work}/cgroups" \
		2>/dev/null || status=1
	end "${pids[@]}"
	rmdir "${root}/perf_off_cpu/below/it" "${root}/perf_off_cpu/below" "${root}/perf_off_cpu"
	echo "in: ${pids[0]}, below: ${pids[1]}, not in: ${pids[2]}"
	cat "${work}/pids" "${work}/cgroups"
	awk -v pid="${pids[0]}" -v below="${pids[1]}" '
		/offcpu-time/ { n[$1]++; if ($1 != pid && $1 != below) bad++ }
		END { exit !(n[pid] >= 3 && n[below] >= 3 && !bad) }' "${work}/pids" || status=1
	awk '/^# Samples/ { off = /offcpu-time/ }
		off && $1 ~ /^[0-9.]+%$/ { n[$2]++; all += $1
			if ($2 !~ /^\/perf_off_cpu(\/below\/it)?$/) bad++ }
		END { exit !(n["/perf_off_cpu"] && n["/perf_off_cpu/below/it"] &&
			     all > 99.9 && !bad) }' "${work}/cgroups" || status=1
	# the stacks must be whole, except for waits that have not ended when recording ends
	[[ ${*:2} != *defer* ]] || awk '
		$1 == "waits" && / entry_SYSCALL_64_after_hwframe( |$)/ {
			n[/ in_(sleep|poll) take_turns start_thread [^ ]*clone3?$/]++ }
		END { print n[1], "whole,", n[0] + 0, "not"; exit n[1] < 20 || n[0] > 4 }' \
		"${work}/samples" || status=1
	return "${status}"
}

# Waits of a thread in two cgroups are in two sums.
cgroups_apart() { # mount point
	local root=$1 pid from status=0

	from=$(sed -n 's/^0:://p' /proc/self/cgroup)
	mkdir -p "${root}/perf_off_cpu" || return 1
	"${prog}" turns 1 >"${work}/ready" & pid=$!
	wait_for ready
	start_perf -a --all-cgroups || status=1
	wait_more 50 "${pid}"
	echo "${pid}" >"${root}/perf_off_cpu/cgroup.procs" || status=1
	wait_more 50 "${pid}"
	stop_perf || status=1
	end "${pid}"
	rmdir "${root}/perf_off_cpu"
	perf script -F pid,tid,event,period,cgroup -G -i "${data}" >"${work}/sums" || status=1
	grep "${pid}/" "${work}/sums"
	# Sleep and poll have a sum each. A wait without a stack, or a long one, has its own sample.
	awk -v pid="${pid}" -v from="${from}" '{ split($1, id, "/") }
		id[1] == pid && id[2] != pid && $2 > 100000000 { n[$NF]++ }
		END { exit !(n[from] >= 2 && n["/perf_off_cpu"] >= 2) }' "${work}/sums" || status=1
	return "${status}"
}

mount_v1() {
	mkdir -p "${work}/v1" &&
	mount -t cgroup -o perf_event none "${work}/v1" 2>/dev/null
}

in_cgroup_v1() {
	local status

	mount_v1 && in_cgroup "${work}/v1"
	status=$?
	umount "${work}/v1"
	return "${status}"
}

# Let perf record write a file.
write_file() { # number of files that it has written then
	local files=()

	kill -USR2 "${PPID}"
	until files=("${work}"/snap.*) && [ ${#files[@]} -ge "$1" ] && [ -e "${files[0]}" ]
	do
		read -rt 0.1 <> "${work}/never"
	done
}
export -f write_file
export work

# Each wait is in exactly one file: the first file that is written after the wait.
snapshots() { # options
	local file nr=0 whole

	rm -f "${work}"/snap* "${work}/never"
	mkfifo "${work}/never"
	perf record --off-cpu -e dummy --overwrite --switch-output=signal \
		--no-buildid "$@" -o "${work}/snap" \
		bash -c 'sleep 0.7; write_file 1; sleep 1.5; write_file 2; sleep 3; :' \
		2>"${work}/err" || return 1
	cat "${work}/err"
	for file in "${work}"/snap.*
	do
		nr=$((nr + 1))
		samples "${file}" || return 1
		whole=$((${whole:-0} + $(whole_sleeps 600000000 | tail -n 1)))
		perf script -F period,event,ip,sym -i "${file}" 2>"${work}/script.err" |
			awk -v nr="${nr}" '
			/offcpu-time/ { period = $1; next }
			/hrtimer_nanosleep/ { print nr, period }'
	done >"${work}/dumped"
	cat "${work}/dumped"
	# while perf writes a file, the buffers are paused: events of new programs are lost
	[[ $* != *defer* ]] || [ "${whole}" = 3 ] || return "${differs}"
	awk 'BEGIN { least[1] = 690000000; least[2] = 1490000000; least[3] = 2990000000 }
	     { n[$1]++; if ($2 < least[$1]) bad++ }
	     END { exit !(n[1] == 1 && n[2] == 1 && n[3] == 1 && !bad) }' "${work}/dumped"
}

# Malformed records are counted and skipped, and the others are written.
malformed() { # output of perf record, options...
	make_junk || return 1
	perf record --off-cpu -e dummy "${@:2}" -o "$1" \
		sh -c "${junk} 50 >&2 && exec ${prog} >${work}/said" >"${work}/pipe" \
		2>"${work}/err"
	cat "${work}/err"
	[ "$1" != - ] || set -- "${work}/pipe"
	! grep -q Lost "${work}/err" || return "${differs}"
	[ "$(grep -c 'WARNING' "${work}/err")" = 1 ] &&
	grep -q 'WARNING: Skipped 50 malformed off-CPU records' "${work}/err" &&
	samples "$1" && waits_match && sums_match
}

# If a requirement is missing, perf prints the reason once and records the other
# events.
does_without() { # why, event, command before perf
	"${@:3}" perf record --off-cpu -e "$2" -o - perf test -w noploop 1 \
		>"${work}/pipe" 2>"${work}/all_err"
	complaints $? "${work}/all_err"
	local status=$?
	cat "${work}/err"
	[ "${status}" = 0 ] && [ "$(wc -l <"${work}/err")" = 2 ] &&
	[ "$(grep -c "Cannot measure time off the CPU: .*$1" "${work}/err")" = 1 ] &&
	[ "$(grep -c 'no samples of offcpu-time' "${work}/err")" = 1 ] &&
	perf script -i "${work}/pipe" 2>/dev/null | grep -q 'cpu-clock' || return 1
	# without other events, perf fails
	"${@:3}" perf record --off-cpu -e dummy -o - true >"${work}/pipe" 2>"${work}/all_err" &&
		return 1
	complaints 0 "${work}/all_err"
	cat "${work}/err"
	[ "$(wc -l <"${work}/err")" = 1 ] &&
	grep -q "Cannot measure time off the CPU: .*$1" "${work}/err"
}

without_types() {
	# shellcheck disable=SC2016
	does_without 'no type information' cpu-clock unshare -m \
		sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh
}

without_rights() {
	local paranoid status=0

	paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
	echo -1 >/proc/sys/kernel/perf_event_paranoid
	does_without 'no BPF program can be loaded' cpu-clock:u \
		setpriv --reuid nobody --bounding-set -all --inh-caps -all || status=1
	echo "${paranoid}" >/proc/sys/kernel/perf_event_paranoid
	return "${status}"
}

refused_program() { # what fails: load or attach
	make_refuse &&
	does_without "the BPF program cannot be $1ed: Invalid argument" cpu-clock \
		env REFUSE="$1" LD_PRELOAD="${refuse}"
}

# The kernel stack and the user stack of a sample belong to the same wait.
halves_agree() { # pid
	for _ in 1 2 3
	do
		record -e dummy -p "$1" --off-cpu-thresh 0 -- \
			bash -c "wait_more 1000 $1" &&
			samples "${data}" || return 1
		grep -qE 'do_sys_poll.* _*poll( |$)' "${work}/samples" &&
		! grep -E 'do_sys_poll.* clock_nanosleep|hrtimer_nanosleep.* _*poll( |$)' \
			"${work}/samples" || return 1
	done
}

# Waits in execve after the point of no return have no user stack. There may be no such wait, if
# the other threads have exited before execve waits for them.
in_exec() {
	record -e dummy --off-cpu-thresh 0 "${prog}" exec 0 && samples "${data}" || {
		cat "${work}/err"
		return 1
	}
	grep begin_new_exec "${work}/samples" || return "${differs}"
	! grep -E 'begin_new_exec.* (execute|(__GI_)?_*execve)( |$)' "${work}/samples"
}

# In execve, a thread gets the tid of its process. Earlier waits keep the old tid.
before_exec() {
	record -e dummy "${prog}" exec 0 && samples "${data}" || return 1
	cat "${work}/err" "${work}/said" "${work}/samples"
	[ ! -s "${work}/err" ] &&
	awk -v differs="${differs}" "${awk_off}"'FNR == NR && $1 == "sum" { tid = $3; said = $4 }
	     FNR == NR { next }
	     $1 == "execer" && $2 == tid && /nanosleep|__syscall_cancel_arch/ { sum += $3 }
	     END { if (!said || !sum || off(sum, said) > 100000000) exit 1
		   exit (off(sum, said) > said / 50) ? differs : 0 }' \
		"${work}/said" "${work}/samples"
}

# A thread is still recorded after execve, even if that changes its tid.
follows_exec() {
	local tid

	"${prog}" execute 1 >"${work}/ready" & local pid=$!
	wait_for execer ready
	tid=$(awk '$1 == "execer" { print $2 }' "${work}/ready")
	start_perf -t "${tid}"
	kill -USR1 "${pid}"
	wait "${pid}"
	stop_perf
	samples "${data}" || return 1
	echo "${tid}, then ${pid}"
	cat "${work}/samples"
	awk -v pid="${pid}" '$1 == "sleep" && $2 == pid && $3 > 900000000 { n++ }
		END { exit n != 1 }' "${work}/samples"
}

# Without inherited events, samples have names and times, even if no other event needs
# a time.
per_thread() {
	rm -f "${work}/go"
	# shellcheck disable=SC2016
	sh -c 'until [ -e "$1/go" ]; do sleep 0.1; done; sleep 0.7; exec sleep 0.8' \
		sh "${work}" & local pid=$!
	wait_until "${pid}" grep -qx sh "/proc/${pid}/comm"
	start_perf --per-thread -p "${pid}" "$@"
	touch "${work}/go"
	wait "${pid}"
	stop_perf
	samples "${data}" || return 1
	perf evlist -v -i "${data}"
	cat "${work}/samples"
	[[ $* != *defer* ]] || [ "$(whole_sleeps 700000000 | tail -n 1)" = 1 ] || return 1
	awk -v pid="${pid}" '$2 != pid || $1 ~ /^:/ { bad++ }
		$1 == "sh" && $3 > 600000000 { sh++ }
		$1 == "sleep" && $3 > 700000000 { slept++ }
		END { exit bad || sh < 1 || slept != 1 }' "${work}/samples"
}

# Tasks that the workload creates before events are enabled are recorded, too.
delayed() { # options
	local pids

	# perf record answers when events are enabled
	# shellcheck disable=SC2016
	start_perf -D 500 "$@" -- sh -c '"$1" sleep 10000000 & echo $! $$ >"$2/pids"
		exec "$1" sleep 10000000' sh "${prog}" "${work}" || return 1
	read -ra pids <"${work}/pids" && wait_asleep "${pids[@]}" || return 1
	sleep 1.1
	kill -USR1 "${pids[@]}"
	stop_perf && show_samples || return 1
	[[ $* != *defer* ]] || [ "$(whole_sleeps 1000000000 waits | tail -n 1)" = 2 ] || return 1
	awk '$1 == "waits" && $3 > 1000000000 { n += !seen[$2]++ } END { exit n != 2 }' \
		"${work}/samples"
}

# A new process is not recorded just because it has the pid of a recorded process that exited.
not_again() {
	sleep 1000000 & local first=$!
	sleep 1000000 & local second=$!
	wait_asleep "${first}" "${second}"
	start_perf -p "${first},${second}"
	end "${first}"
	tell_perf disable
	tell_perf enable
	"${prog}" number "${first}" >"${work}/said"
	end "${second}"
	stop_perf
	samples "${data}" || return 1
	cat "${work}/said" "${work}/samples"
	grep -q "^sum sleeper ${first} " "${work}/said" &&
	awk -v second="${second}" '$1 == "waits" || $1 ~ /^:/ { bad++ }
		$2 == second && $3 > 500000000 { n++ }
		END { exit bad || n < 1 }' "${work}/samples"
}

# In total there are more processes than the task filter can hold at a time.
many_processes() {
	record -e dummy "${prog}" many 4200 && samples "${data}" || return 1
	cat "${work}/err" "${work}/samples"
	! grep 'Task filter full' "${work}/err" &&
	[ "$(grep -c 'hrtimer_nanosleep' "${work}/samples")" = 2 ]
}

on_cpu() { # CPU, number of samples
	taskset -c 1 sleep 1000000 & local pid=$!
	wait_asleep "${pid}"
	record -e dummy -C "$1" -- sleep 1
	end "${pid}"
	samples "${data}" || return 1
	[ "$(perf script -F tid,cpu,event -G -i "${data}" | grep -c "^ *${pid} *\[00$1\]")" = "$2" ]
}

# Interruptible and uninterruptible waits with the same stack have two separate sums.
states_apart() {
	record -e dummy "${prog}" states 10 && show_samples || return 1
	awk '$4 == "syscall" && $3 > 150000000 { n++; tids += !seen[$2]++ }
	     END { exit !(n == 2 && tids == 1) }' "${work}/samples"
}

tell_perf() { # command
	echo "$1" >&7
	# it answers "ack", a newline and a zero
	wait_until "${perf}" read -t 0 -u 8 && head -c 5 <&8 >/dev/null
}

# Start perf record in the background, and wait until it records.
start_perf() { # arguments of perf record
	rm -f "${work}/ctl" "${work}/ack"
	mkfifo "${work}/ctl" "${work}/ack" && exec 7<>"${work}/ctl" 8<>"${work}/ack" || return 1
	perf record --off-cpu -o "${data}" -e dummy --control "fifo:${work}/ctl,${work}/ack" \
		"$@" 2>"${work}/all_err" & perf=$!
	tell_perf ping
}

# Stop perf record. Do not read the ack fifo: perf may already have ended, because its workload
# has ended.
stop_perf() {
	local status

	echo stop >&7
	wait "${perf}"
	complaints $? "${work}/all_err"
	status=$?
	exec 7>&- 8>&-
	return "${status}"
}

# Run a process that falls asleep on one CPU and wakes up on another, half a second later. Sets pid.
sleep_and_move() { # from, to
	taskset -c "$1" "${prog}" sleep 10000000 & pid=$!
	wait_asleep "${pid}" || return 1
	awk -v cpu="$1" '$1 == "Cpus_allowed_list:" { exit $2 != cpu }' \
		"/proc/${pid}/status" || return 1
	taskset -pc "$2" "${pid}" >/dev/null
	sleep 0.6
	kill -USR1 "${pid}"
	wait "${pid}"
}

# The sample has the CPU on which the thread wakes up.
moved() {
	local pid

	start_perf -a && sleep_and_move 0 1 && stop_perf && samples "${data}" || return 1
	perf script -F tid,cpu,event,period -G -i "${data}" | grep "^ *${pid} " |
		tee "${work}/moved"
	awk '$3 >= 500000000 { n++; if ($2 != "[001]") bad++ }
	     END { exit !(n == 1 && !bad) }' "${work}/moved"
}

# A reader thread of perf record keeps reading after the first wait, even if all waits that
# begin on its CPUs end on other CPUs.
others_threads() {
	local pid

	start_perf -C 1 --threads --no-buffering && sleep_and_move 1 0 &&
		sleep_and_move 1 0 && stop_perf && show_samples || return 1
	[ "$(awk '$1 == "waits" && $3 > 500000000' "${work}/samples" | wc -l)" = 2 ]
}

# Count the sleeps of main() in sleep(1) or the given program that last at least this time and
# have __libc_start_main in the stack.
whole_sleeps() { # nanoseconds[, program]
	cat "${work}/samples"
	# The outermost frame can be in sleep(1), which has no symbols.
	awk -v least="$1" -v name="${2:-sleep}" '$1 == name && $3 >= least &&
		/ entry_SYSCALL_64_after_hwframe .*nanosleep.* __libc_start_main[^ ]* [^ ]+$/' \
		"${work}/samples" | wc -l
}

# A stack must be whole even if its deferred record is written on a CPU that -C excludes.
ended_elsewhere() {
	local pid

	start_perf -C 1 --call-graph defer && sleep_and_move 1 0 && stop_perf &&
		show_samples || return 1
	[ "$(whole_sleeps 500000000 waits | tail -n 1)" = 1 ]
}

new_threads() {
	"${prog}" 10000000 >"${work}/said" & local pid=$!
	wait_asleep "${pid}"
	start_perf -p "${pid}"
	kill -USR1 "${pid}"
	wait "${pid}"
	stop_perf
	samples "${data}" && waits_match && sums_match
}

new_processes() { # number, options...
	local slept

	rm -f "${work}/go"
	setpriv --reuid nobody sh -c "until [ -e ${work}/go ]; do sleep 0.1; done
		sleep 0.7; sleep 0.7; :" & local pid=$!
	wait_until "${pid}" grep -qx sh "/proc/${pid}/comm"
	case "$2" in
	-p) start_perf -p "${pid}" "${@:3}" ;;
	*) start_perf "${@:2}" ;;
	esac
	chmod 755 "${work}"
	touch "${work}/go"
	wait "${pid}"
	stop_perf
	samples "${data}" || return 1
	cat "${work}/err" "${work}/samples"
	slept=$(grep -c '^sleep .*hrtimer_nanosleep' "${work}/samples")
	# on a machine that stalls, a sleep of 0.1 s can last long enough for its own sample
	[ "$1" = 0 ] || [ "${slept}" -le "$1" ] || return "${differs}"
	[[ $* != *defer* ]] || [ "$(whole_sleeps 690000000 | tail -n 1)" = "$1" ] || return 1
	[ "${slept}" = "$1" ]
}

# Waits while events are disabled do not count.
controlled() {
	local pid from to

	sleep 1000000 & pid=$!
	wait_asleep "${pid}"
	start_perf -p "${pid}" -D -1
	sleep 1
	from=$(cut -d ' ' -f 1 /proc/uptime)
	tell_perf enable
	sleep 1
	tell_perf disable
	to=$(cut -d ' ' -f 1 /proc/uptime)
	sleep 1
	stop_perf
	end "${pid}"
	samples "${data}" || return 1
	cat "${work}/err" "${work}/samples"
	echo "at ${from} to ${to} s"
	awk -v most="$(awk "BEGIN { print (${to} - ${from}) * 1e9 }")" '
		$1 == "sleep" { n++; sum += $3 }
		END { exit !(n == 1 && sum > 950000000 && sum < most + 20000000) }' \
		"${work}/samples"
}

# If the disk is full, perf record prints errors, but not many, and ends.
full_disk() {
	local status
	mkdir -p "${work}/full" && mount -t tmpfs -o size=64k tmpfs "${work}/full" || return 1
	timeout 1800 perf record -a --off-cpu --off-cpu-thresh 0 -e dummy -m 1 \
		-o "${work}/full/data" -- sleep 2 > "${work}/err" 2>&1
	status=$?
	umount "${work}/full"
	head -20 "${work}/err"
	echo "status ${status}"
	[ "${status}" != 0 ] && [ "${status}" != 124 ] &&
	[ "$(grep -c 'failed to write' "${work}/err")" -lt 10 ]
}

# With -p and -i, offcpu-time samples new threads that the tracking event does not follow. So the
# deferred records also go to offcpu-time. Without -i, the tracking event gets all of them.
not_inherited() {
	sleep 1000000 & local pid=$!
	perf record -q -i -p "${pid}" --off-cpu -e dummy --call-graph defer -o "${data}" -- true
	kill "${pid}"
	perf evlist -v -i "${data}" > "${work}/out"
	cat "${work}/out"
	grep '^offcpu-time' "${work}/out" | grep -q 'defer_output: 1' || return 1
	perf record -q -p $$ --off-cpu -e dummy --call-graph defer -o "${data}" -- true
	perf evlist -v -i "${data}" | grep '^offcpu-time' > "${work}/out"
	cat "${work}/out"
	! grep -q 'defer_output: 1' "${work}/out"
}

says_lost() {
	record -e dummy -m 1 --off-cpu-thresh 0 perf bench sched messaging -g 2 -l 20 || return 1
	perf report --stats -i "${data}" 2>/dev/null >"${work}/stats"
	cat "${work}/err" "${work}/stats"
	[ "$(grep -c 'WARNING: Accumulated [1-9][0-9]* waits instead' "${work}/err")" = 1 ] &&
	grep -q 'LOST' "${work}/stats"
}

# The user may give the name offcpu-time to another event.
same_name() {
	record -e cpu-clock/name=offcpu-time/ -F 99 sleep 0.3 || return 1
	perf script -F comm,period -i "${data}" 2>/dev/null |
		awk '$1 == "sleep" && $2 >= 300000000 { n++ } END { exit n != 1 }'
}

# One report shows time on and off the CPU, in the right functions.
together() {
	record -e cpu-clock -F 99 --call-graph defer -- sh -c "${prog}; perf test -w noploop 1" &&
		samples "${data}" || return 1
	perf report --no-children -g caller -s comm,sym --percent-limit 1 -i "${data}" \
		>"${work}/report" 2>/dev/null || return 1
	cat "${work}/report"
	awk -v can_defer="${can_defer}" '
	     BEGIN { place["sleeper"] = can_defer ? "in_sleep" : "hrtimer_nanosleep"
		     place["poller"] = can_defer ? "in_poll" : "do_sys_poll"
		     place["conder"] = can_defer ? "in_cond" : "do_futex" }
	     /^# Samples:/ { on = /cpu-clock/; off = /offcpu-time/ }
	     on && /[0-9]%.* perf .*noploop/ { busy++ }
	     off && /[0-9]%.* [a-z]/ && !/--/ { name = place[$2]; next }
	     off && name && $0 ~ name { found += !seen[name]++ }
	     END { exit !(busy && found == 3) }' "${work}/report"
}

# The command of the man page prints all waits in time order, with end and duration.
in_order() {
	record -e cpu-clock -F 99 --call-graph defer --off-cpu-thresh 100 "${prog}" || return 1
	perf script --ns -G -F comm,tid,time,event,period -i "${data}" >"${work}/list" || return 1
	cat "${work}/list"
	tr -d : <"${work}/list" | awk -v differs="${differs}" '
	FNR == NR { if ($1 == "wait") { n++; name[n] = $2; tid[n] = $3; ns[n] = $4 }; next }
	NF != 5 || $3 + 0 < before { bad++ }
	{ before = $3 + 0 }
	$5 == "offcpu-time" {
		for (i = 1; i <= n; i++)
			if (!seen[i] && $1 == name[i] && $2 == tid[i] &&
			    $4 > ns[i] * 0.9 && $4 < ns[i] * 1.1) { seen[i] = 1; found++; break } }
	END { if (bad || n < 5 || found < 3) exit 1
	      exit found == n ? 0 : differs }' "${work}/said" -
}

# In a flame graph, a second on the CPU is as wide as a second off the CPU, and both are
# in the right function.
flame_graph() {
	record -e cpu-clock -F 99 --call-graph defer "${prog}" && samples "${data}" || return 1
	perf script -F event,period -G -i "${data}" >"${work}/periods" 2>/dev/null || return 1
	perf script -i "${data}" -s "$(dirname "$0")/../../scripts/python/flamegraph.py" -- \
		-f json -e cpu-clock -e offcpu-time -o "${work}/flames" || return 1
	python3 - "${work}/flames" "${work}/samples" "${work}/periods" \
		"$([ -n "${can_defer}" ] && echo in_sleep || echo hrtimer_nanosleep)" <<'END'
import json, sys

def total(node):
    return node["v"] + sum(total(child) for child in node["c"])

def below(node, name):
    if node["n"] == name:
        return total(node)
    return sum(below(child, name) for child in node["c"])

def same(a, b):
    return abs(a - b) <= b / 1000

with open(sys.argv[1]) as file:
    flames = json.load(file)
with open(sys.argv[2]) as file:
    slept = sum(int(line.split()[2]) for line in file if " %s " % sys.argv[4] in line)
with open(sys.argv[3]) as file:
    both = sum(int(line.split()[0]) for line in file)
there = below(flames, sys.argv[4])
print(total(flames), both, there, slept)
# Nearly all time of the sleeping function is off the CPU.
sys.exit(not (same(total(flames), both) and slept > 1e9 and slept <= there < slept + 3e9))
END
}

# The merged file is for tools that support neither deferral nor offcpu-time.
merged() {
	deferred || return 1
	perf inject --merge-callchains -i "${data}" -o "${work}/merged" || return 1
	perf report -D -i "${work}/merged" 2>/dev/null >"${work}/dump"
	! grep -q 'CALLCHAIN_DEFERRED' "${work}/dump" &&
	samples "${work}/merged" && waits_match && sums_match && stacks_are_whole
}

switched_deferred() {
	switched --call-graph defer || return
	# If a process exits just when a new file begins, the file lacks its MMAP events.
	stacks_are_whole || return "${differs}"
}

piped_deferred() {
	measures -z --threads -e dummy --call-graph defer && stacks_are_whole &&
	again piped --call-graph defer && stacks_are_whole
}

refused() { # threshold
	! perf record -q --off-cpu --off-cpu-thresh "$1" -o "${data}" true 2>"${work}/err" &&
	[ "$(grep -c 'is not a number of milliseconds' "${work}/err")" = 1 ]
}

# Interpreted BPF programs cannot call the kfunc that returns cookies.  The JIT is a setting of
# the whole machine, so restore it in any case.  Some kernels do not allow turning it off.
jit=/proc/sys/net/core/bpf_jit_enable
jit_was=$(cat "${jit}" 2>/dev/null)
restore_jit() {
	[ -z "${jit_was}" ] || echo "${jit_was}" >"${jit}"
}

without_jit() {
	local status

	trap 'restore_jit; rm -rf "${work}"' EXIT
	trap 'exit 130' INT TERM HUP
	echo 0 >"${jit}" || return 1
	again falls_back && asleep -p
	status=$?
	restore_jit
	return "${status}"
}

can_do_without_jit() {
	[ -n "${jit_was}" ] && { echo 0 >"${jit}"; } 2>/dev/null && restore_jit
}

if perf record --off-cpu -e dummy --call-graph defer -o "${data}" true 2>&1 |
	grep -q 'taken in place'
then
	can_defer=
else
	can_defer=1
fi
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)

# Print why a test that needs $1 must be skipped, or "-" if the test is for other kernels.
why_not() { # need
	case $1 in
	defer)	[ -n "${can_defer}" ] || echo "-" ;;
	place)	[ -z "${can_defer}" ] || echo "-" ;;
	fast)	[ "${few}" = 0 ] || echo "slow" ;;
	# A kernel that cannot defer has few tests: run fast_here even on a slow machine.
	fast_here) [ "${few}" = 0 ] || [ -z "${can_defer}" ] || echo "slow" ;;
	cpus)	command -v taskset >/dev/null && [ "$(nproc)" -gt 1 ] ||
			echo "no taskset, or one CPU" ;;
	cgroup)	[ -n "${cgroups}" ] || echo "no cgroup2" ;;
	# while the controller is mounted for version 1, other cgroups have no events
	v1)	[ "${PERF_TEST_ALL:-}" = all ] || echo "other cgroups would lose their events" ;;
	jit)	can_do_without_jit || echo "no choice" ;;
	python)	has_feature libpython && command -v python3 >/dev/null || echo "no Python" ;;
	*)	command -v "$1" >/dev/null || echo "no $1" ;;
	esac
}

run_test() { # name, needs, test
	local need why test=()

	for need in $2
	do
		why=$(why_not "${need}")
		[ "${why}" != - ] || return 0
		[ -z "${why}" ] || break
	done
	if [ -n "${why}" ]
	then
		echo "$1 [left out: ${why}]"
		[ "${PERF_TEST_ALL:-}" != all ] || failures=$((failures + 1))
		return
	fi
	eval "test=($3)"
	check "$1" "${test[@]}"
}

# With PERF_TEST_ONLY=WORD only tests whose name has the word are run.
run_tests() {
	# shellcheck disable=SC2034 # the table has it
	local name needs test defer='--call-graph defer'

	while IFS='|' read -r -u 9 name needs test
	do
		name=${name%"${name##*[![:space:]]}"}
		case ${name} in
		'' | '#'*) ;;
		*"${PERF_TEST_ONLY:-}"*) run_test "${name}" "${needs}" "${test}" ;;
		esac
	done 9<<'END'
# name | needs (fast: a fast machine, or PERF_TEST_ALL=all) | test and its arguments
--off-cpu-thresh '' is refused                |                   | refused ''
--off-cpu-thresh 'x' is refused               |                   | refused x
--off-cpu-thresh '1x' is refused              |                   | refused 1x
--off-cpu-thresh '-1' is refused              |                   | refused -1
--off-cpu-thresh '1.5' is refused             |                   | refused 1.5
--off-cpu-thresh '86400001' is refused        |                   | refused 86400001
--off-cpu-thresh '99999999999' is refused     |                   | refused 99999999999
--off-cpu-thresh '999999999999999999999' is refused |  | refused 999999999999999999999
--off-cpu-thresh 86400000, all is summed up   | fast              | again all_summed_up
fallback to stacks in place                   | place             | again falls_back
fallback, -a | place | again measures -a -e dummy ${defer}
fallback, pipe -z                             | place             | again piped -z ${defer}
deferred stacks                               | defer             | deferred
deferred stack of main                        | defer fast        | main_is_whole
perf inject --merge-callchains                | defer fast        | merged
with cpu-clock                                | defer fast        | with_other_event
-z --threads and pipe, deferred               | defer fast        | piped_deferred
--switch-output, deferred                     | defer fast        | again switched_deferred
--overwrite --switch-output=signal, deferred  | defer fast        | again snapshots ${defer}
--per-thread, deferred                        | defer fast        | per_thread --call-graph defer
-i, deferred                                  | defer fast        | not_inherited
-a, deferred                                  | defer fast        | deferred -a
-C, deferred | defer fast | deferred -C "0-$(($(nproc) - 1))"
-p, deferred                                  | defer             | deferred_attached -p
-t, deferred                                  | defer fast        | deferred_attached -t
-C 1, deferred, ends elsewhere                | defer cpus        | ended_elsewhere
in place                                      |                   | measures -e dummy
--call-graph dwarf                            |                   | in_place_instead_of dwarf
--call-graph lbr                              | fast              | in_place_instead_of lbr
--call-graph dwarf --kernel-callchains | fast | without_user_half --call-graph dwarf
times                                         | fast              | times_match
-a                                            | fast              | measures -a -e dummy
-C | fast | measures -C "0-$(($(nproc) - 1))" -e dummy
-z --threads                                  | fast              | measures -z --threads -e dummy
--overwrite                                   | fast              | measures --overwrite -e dummy
--aio                                         | fast              | measures --aio -e dummy
-m 1                                          | fast              | measures -m 1 -e dummy
--all-cgroups                                 | fast              | measures --all-cgroups -e dummy
pipe                                          | fast              | again piped
pipe -z                                       | fast              | again piped -z
--switch-output                               | fast              | again switched
--switch-output -z                            | fast              | again switched -z
no switch allocates                           |                   | no_switch_allocates
no switch allocates, -a                       |                   | no_switch_allocates -a
asleep, -p                                    |                   | asleep -p
asleep, -t                                    | fast              | asleep -t
asleep, small buffers                         | fast              | beside idle 600 all_asleep
asleep, small buffers, --threads | fast | beside idle 600 all_asleep --threads
-C 1 --threads                                | cpus fast         | others_threads
asleep, -C, there                             | cpus fast         | on_cpu 1 1
asleep, -C, elsewhere                         | cpus fast         | on_cpu 0 0
the CPU of a wait                             | cpus fast         | moved
the end of recording between two waits        | fast              | beside turns 50 halves_agree
threads that end as recording does            | fast              | beside leave 100 leave_at_end
one sum for each place                        | fast              | sums_are_whole
one sum for each state                        | fast              | states_apart
in a PID namespace                            | fast_here         | in_namespace
--cgroup                                      | cgroup            | in_cgroup "${cgroups}"
--cgroup, deferred | cgroup defer fast | in_cgroup "${cgroups}" --off-cpu-thresh 0 ${defer}
one sum for each cgroup                       | cgroup fast       | cgroups_apart "${cgroups}"
no switch allocates, --cgroup | cgroup | no_switch_allocates_moved "${cgroups}"
--cgroup, version 1                           | v1                | in_cgroup_v1
--overwrite --switch-output=signal            | fast              | snapshots
malformed records                             | fast              | again malformed "${data}"
malformed records, -z --threads | fast | again malformed "${data}" -z --threads
malformed records, --overwrite | fast | again malformed "${data}" --overwrite
malformed records, pipe -z                    |                   | again malformed - -z
a full disk                                   | fast              | beside idle 300 full_disk
without BTF                                   |                   | without_types
a program that cannot be loaded               |                   | refused_program load
a program that cannot be attached             | fast              | refused_program attach
without a JIT                                 | jit fast          | without_jit
waits in execve                               |                   | again in_exec
sums before execve                            |                   | again before_exec
processes that come and go                    | fast              | many_processes
threads created later                         |                   | again new_threads
processes created later, -p                   | setpriv fast      | again new_processes 2 -p
processes created later, -p -i                | setpriv fast      | new_processes 0 -p -i
processes created later, -u                   | setpriv fast      | again new_processes 2 -u nobody
processes created later, -u, deferred|setpriv defer fast|again new_processes 2 -u nobody ${defer}
not allowed to use BPF                        | setpriv           | without_rights
execve by a thread, -t                        |                   | follows_exec
--per-thread                                  | fast              | per_thread
--per-thread --no-timestamp                   | fast              | per_thread --no-timestamp
-D                                            | fast              | delayed
-D, deferred                                  | defer fast        | delayed --call-graph defer
control                                       | fast              | controlled
control, a number used again                  | fast              | not_again
with an event of the same name                |                   | same_name
with cpu-clock, in one report                 | fast_here         | together
with cpu-clock, in order                      | fast_here         | again in_order
buffers too small                             |                   | says_lost
flame graph                                   | python fast_here  | flame_graph
--off-cpu-thresh 0                            |                   | again everything
two kinds                                     | fast              | again two_kinds
names                                         | fast              | nothing_unknown
-a, threads that come and go                  | fast              | short_lived
END
}

run_tests
[ "${failures}" = 0 ]
