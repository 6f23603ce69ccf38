#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# deferred user callchains in the commands that follow threads

# sched, lock, kwork, timechart, kmem, trace and scripts need every sample in time order and
# with its user half, even if the thread sleeps for long before its record is written.

# shellcheck source=lib/deferred_callchain.sh
. "$(dirname "$0")"/lib/deferred_callchain.sh

data=${work}/perf.data

count() { # what, of the last recording
	awk -v what=" $1:" 'index(" " $0, what) { print $NF; exit }' "${work}/stats"
}

workload() {
	local i
	for i in 1 2 3 4 5 6
	do
		sleep 1 &
	done
	for i in 1 2 3 4
	do
		ls / > /dev/null
	done
	wait
}
export -f workload

record() { # events
	perf record -q -m 16 -o "${data}" --call-graph defer -e "$1" -- bash -c workload || return 1
	perf report --stats -i "${data}" > "${work}/stats" 2>/dev/null
}

# Most commands print the counts with -v. Each command must stitch all samples that have a record.
all_in_turn() { # command...
	"$@" > "${work}/out" 2> "${work}/err" || { tail "${work}/err"; return 1; }
	awk -v samples="$(count 'deferred samples')" -v missing="$(count incomplete)" '
		/^deferred callchains: / { print; ok = $3 == samples && $5 == $3 - missing }
		END { exit !ok }' "${work}/err"
}

sleepers() {
	local events=sched:sched_switch,sched:sched_wakeup,sched:sched_waking
	events+=,irq:softirq_entry,irq:softirq_exit
	events+=,lock:contention_begin,lock:contention_end,kmem:kmalloc
	record "${events}" || return 1
	echo "$(count stitched) stitched, $(count incomplete) incomplete"
	[ "$(count stitched)" -gt 0 ]
}

# The stack of each sleep shows __libc_start_main, and the times are in order.
timehist() {
	perf sched timehist --max-stack 64 -i "${data}" 2>/dev/null > "${work}/out" || return 1
	[ "$(grep 'sleep\[' "${work}/out" | grep -c '<- __libc_start_main')" -ge 6 ] &&
	awk '$1 ~ /^[0-9]/ { if ($1 < last) bad++; last = $1; n++ } END { exit bad || n < 20 }' \
		"${work}/out"
}

# The command prints each sample, and below the sample only frames.
script_of() { # command
	local samples
	samples=$(perf report --stats -i "${data}" 2>/dev/null |
		awk '/SAMPLE events/ { print $3; exit }')
	perf "$1" script -F time,event,ip -i "${data}" > "${work}/out" 2>/dev/null || return 1
	echo "${samples} samples"
	[ "$(grep -c '^ *[0-9]*\.[0-9]*: ' "${work}/out")" = "${samples}" ] &&
	! grep -v -E '^ *[0-9]*\.[0-9]*: |^$|^'$'\t'' *[0-9a-f]+ ?$' "${work}/out"
}

perl_script() {
	cat > "${work}/frames.pl" <<-'END'
	sub sched::sched_switch {
		my ($event, $context, $cpu, $secs, $nsecs, $pid, $comm, $callchain) = @_;
		my $time = $secs * 1000000000 + $nsecs;
		$bad++ if $time < $last;
		$last = $time;
		$user++ if grep { !($_->{ip} >> 63) } @$callchain;
	}
	sub trace_end { print $user > 20 && !$bad ? "right\n" : "user $user, bad $bad\n"; }
	END
	perf script -s "${work}/frames.pl" -i "${data}" > "${work}/out" 2>&1
	cat "${work}/out"
	grep -q '^right$' "${work}/out"
}

timechart() {
	all_in_turn perf --debug verbose=1 timechart -o "${work}/out.svg" -i "${data}" &&
	[ -s "${work}/out.svg" ]
}

# perf trace pairs entry and exit of the long sleeps. The stacks of the sleeps show the C library.
syscalls() {
	record raw_syscalls:sys_enter,raw_syscalls:sys_exit || return 1
	all_in_turn perf trace -v --call-graph fp -i "${data}" || return 1
	grep -A8 ' ( *[0-9]\{3,\}\.[0-9]* ms): sleep/.*nanosleep(' "${work}/err" > "${work}/sleeps"
	cat "${work}/sleeps"
	[ "$(grep -c 'ms): sleep/.*nanosleep(' "${work}/sleeps")" = 6 ] &&
	[ "$(grep -c 'nanosleep.* (/.*libc' "${work}/sleeps")" -ge 6 ]
}

# All samples are taken in the kernel, so only their user halves hit the C library.
build_ids() {
	perf record -q -o "${data}" --call-graph defer -e sched:sched_switch sleep 0.1 &&
	perf buildid-list -i "${data}" | grep 'libc' &&
	perf buildid-list --with-hits -i "${data}" | grep 'libc'
}

# In a pipe, the formats of tracepoints must follow the event that announces them.
tracepoint_in_pipe() {
	perf record -q -o "${data}" --call-graph defer -e sched:sched_switch sleep 0.1 &&
	perf script -i "${data}" | grep -o ' prev_comm=.*' > "${work}/file" &&
	perf inject -i "${data}" -o - | perf script -i - | grep -o ' prev_comm=.*' |
		diff "${work}/file" -
}

archive() {
	local dir=${work}/debug
	perf --buildid-dir "${dir}" record -q -o "${work}/archived" --call-graph defer \
		-e sched:sched_switch sleep 0.1 &&
	PERF_BUILDID_DIR=${dir} bash "$(dirname "$0")"/../../perf-archive.sh "${work}/archived" &&
	tar tjf "${work}/archived.tar.bz2" | grep 'libc'
}

# Every sample of a function is counted exactly once.
annotate() {
	local there leaf
	perf record -q -o "${data}" --call-graph defer -e cpu-clock \
		perf test -w leafloop || return 1
	there=$(perf script -G -F ip,sym -i "${data}" 2>/dev/null | grep -c ' leaf$')
	leaf=$(perf annotate --stdio leaf -i "${data}" 2>/dev/null |
		sed -n 's/.* for cpu-clock (\([0-9]*\) samples.*/\1/p')
	echo "${leaf} of ${there}"
	[ "${there}" -gt 0 ] && [ "${leaf}" = "${there}" ]
}

stack_on_top() {
	grep -A2 '\bleafloop$' "${work}/out" | grep -A1 '\bparent$' | grep -q '\bleaf$'
}

# Samples of later refreshes are merged into those of the first. All must keep their symbols.
named_on_top() {
	! sed -n '/\bparent$/,/^$/p' "${work}/out" | grep '0x'
}

# perf top drops samples that it reads more than a refresh late. On a slow machine, these are nearly
# all while it loads symbols. With -d 1, the rate is the number of samples since the last refresh.
counted_on_top() {
	awk '$1 == "PerfTop:" { n += $2 } END { exit n < 40 }' "${work}/out"
}

# Check the counts that perf top prints when it ends. A few samples may still wait for a record.
stitched_on_top() {
	awk '/^deferred callchains: / { print; ok = $3 >= 20 && $5 * 10 >= $3 * 9 }
		END { exit !ok }' "${work}/err"
}

all_on_top() {
	stack_on_top && counted_on_top
}

top_of=()

top() { # arguments of perf top
	local load top
	perf test -w leafloop 1000000 & load=$!
	new_keys || return 1
	perf "${top_of[@]}" top --stdio -v -d 1 -e cpu-clock -F 200 -p ${load} --no-children "$@" \
		<&3 > "${work}/out" 2> "${work}/err" & top=$!
	wait_until ${top} all_on_top
	kill ${top}
	wait ${top}
	kill ${load}
	wait ${load}
	tail -20 "${work}/out"
	stack_on_top && named_on_top && stitched_on_top
}

configured_top() {
	printf '[call-graph]\n\trecord-mode = fp,defer\n\torder = caller\n' > "${work}/config"
	PERF_CONFIG=${work}/config top -g
}

kvm_top() {
	local top_of=(kvm --host)

	top "$@"
}

# perf top ends with a message, and shows nothing.
top_refuses() { # call-graph argument
	local top
	new_keys || return 1
	perf top --stdio -e cpu-clock --call-graph "$1" <&3 > "${work}/out" 2>&1 & top=$!
	wait_until ${top} grep -q PerfTop: "${work}/out" && kill ${top}
	! wait ${top} && ! grep PerfTop: "${work}/out" &&
	grep -q 'can be deferred, not' "${work}/out"
}

# Print the text that the terminal got, without control sequences and without the first line,
# which script(1) adds.
shown() {
	sed '1d; s/\x1b[^a-zA-Z]*[a-zA-Z]/\n/g' "${work}/terminal" 2> /dev/null
}

shows() { # word
	shown | grep -q "\b$1\b"
}

# Expand all callchains in the browser. cmd_test() has no samples of its own, so it is shown
# only in callchains. Press E again if the browser had no callchains yet, but ever later: a browser
# draws only while no key can be read.
browse() { # command...
	local terminal wait_limit status=1
	rm -f "${work}/terminal"
	new_keys || return 1
	SHELL=/bin/sh TERM=linux script -qfc "stty rows 70 cols 120; $*" \
		"${work}/terminal" <&3 > /dev/null 2>&1 & terminal=$!
	if wait_until ${terminal} shows leaf && ! shows cmd_test
	then
		for wait_limit in 2 4 8 16 32 64 128 256 512 1024
		do
			printf E >&3
			wait_until ${terminal} shows cmd_test && status=0 && break
		done
	fi
	printf q >&3
	wait_until ${terminal} false
	kill ${terminal} 2> /dev/null
	wait ${terminal}
	shown | grep -v '^[^a-zA-Z]*$' | tail -20
	return ${status}
}

browse_report() {
	browse perf report --tui --no-children -S leaf -g caller -i "${data}"
}

browse_top() {
	local load ret
	perf test -w leafloop 1000000 & load=$!
	browse perf top --tui -d 1 -e cpu-clock -F 200 -p ${load} --call-graph defer,caller \
		--no-children
	ret=$?
	kill ${load}
	wait ${load}
	return ${ret}
}

check_browser() { # description, function
	check_if "libslang and script" \
		"$(has_feature libslang && command -v script > /dev/null && echo yes)" "$@"
}

if ! perf record -q -o "${data}" -e cpu-clock --call-graph defer true 2>/dev/null ||
	! perf evlist -v -i "${data}" | grep -q 'defer_callchain: 1'
then
	echo "Skip: the kernel cannot defer user callchains"
	exit 2
fi
[ -d /sys/kernel/tracing/events/sched ] || exit 2

check "threads that sleep" sleepers
check "perf sched timehist" timehist
check "perf sched latency" all_in_turn perf sched -v latency -i "${data}"
check "perf sched map" all_in_turn perf sched -v map -i "${data}"
check "perf lock contention" all_in_turn perf lock contention -v -i "${data}"
check "perf lock report" all_in_turn perf lock -v -i "${data}" report
check "perf sched replay" all_in_turn perf sched -v -i "${data}" replay -r 1
check "perf sched script" script_of sched
check "perf lock script" script_of lock
check "perf script --switch-on" all_in_turn perf script -v --switch-on sched:sched_waking \
	-i "${data}"
check "perf report --switch-off" all_in_turn perf report -v --stdio \
	--switch-off sched:sched_waking -i "${data}"
check "perf kvm stat report" all_in_turn perf kvm -v -i "${data}" stat report
check "perf kwork report" all_in_turn perf kwork -v -k softirq report -i "${data}"
check "perf kwork timehist" all_in_turn perf kwork -v -k softirq timehist -g -i "${data}"
check "perf kmem stat" all_in_turn perf kmem -v -i "${data}" --slab stat
check "perf timechart" timechart
check_with libperl "Perl script" perl_script
check "perf trace -i" syscalls
check "build ids" build_ids
check "tracepoint in a pipe" tracepoint_in_pipe
check "perf archive" archive
check "perf annotate" annotate
check_browser "perf report's browser" browse_report
check "perf top" top --call-graph defer,caller
check "perf top, fp,defer" top --call-graph fp,defer,caller
check "perf top, perfconfig" configured_top
check "perf kvm top" kvm_top --call-graph defer,caller
check "perf top refuses dwarf,defer" top_refuses dwarf,defer
check "perf top refuses lbr,defer" top_refuses lbr,defer
check_browser "perf top's browser" browse_top

[ "${failures}" = 0 ]
