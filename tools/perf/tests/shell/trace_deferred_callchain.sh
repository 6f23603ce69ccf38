#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf trace with deferred user callchains

# Live perf trace holds an event until its deferred record comes, but not for long.

# shellcheck source=lib/deferred_callchain.sh
. "$(dirname "$0")"/lib/deferred_callchain.sh

out=${work}/out
calls=200	# calls of getppid() by the load
polls=syscalls:sys_enter_poll,syscalls:sys_exit_poll
getppids=syscalls:sys_enter_getppid,syscalls:sys_exit_getppid

# A thread blocks in poll(). Then four other threads call getppid(). The first one wakes up when
# the calls have been printed.
cat > "${work}/load.py" <<'END'
import os, select, sys, threading, time

def sleep():
    poll = select.poll()
    poll.register(ends[0], select.POLLIN)
    poll.poll()

def call(nr):
    for _ in range(nr):
        os.getppid()

def wait_for(path, text):
    while True:
        with open(path) as f:
            if text in f.read():
                return
        time.sleep(0.01)

ends = os.pipe()
sleeper = threading.Thread(target=sleep)
callers = [threading.Thread(target=call, args=(int(sys.argv[2]) // 4,)) for _ in range(4)]
sleeper.start()
wait_for('/proc/self/task/%d/syscall' % sleeper.native_id, '7 0x')
for caller in callers:
    caller.start()
wait_for(sys.argv[1], 'getppid')
for caller in callers:
    caller.join()
os.write(ends[1], b'x')
sleeper.join()
END

# Run perf trace. A load whose events are not printed would wait for ever.
trace() { # arguments of perf trace...
	timeout 1800 perf trace "$@" 2> "${out}" || { tail "${out}"; return 1; }
	# not one that takes callchains in place
	! grep WARNING "${out}"
}

load() { # arguments of perf trace...
	trace "$@" python3 "${work}/load.py" "${out}" "${calls}"
}

# Print for each event its line and, behind a tab, the number of its frames, or its mark if the
# user half is missing.
events() {
	awk '
		function put() { if (line != "") print line "\t" frames }
		/^ *[0-9]+\.[0-9]+ / { put(); line = $0; frames = 0; next }
		/\[user stack: / { sub(/^ */, ""); frames = $0; next }
		/^                    / { frames++ }
		END { put() }' "${out}"
}

# The events that match a pattern. All have a user half of at least some frames, or the mark of
# one that was late, which is rare: only on a very busy machine, and when perf trace is interrupted.
complete() { # pattern, number of events or +, least number of frames
	events | awk -F'\t' -v pattern="$1" -v nr="$2" -v least="$3" '
		$1 !~ pattern { next }
		{ n++ }
		$2 ~ /time limit|end of data/ { late++; next }
		$2 + 0 < least { print; bad = 1 }
		END {
			print pattern ": " n " events, " late + 0 " late"
			exit bad || !n || (nr != "+" && n != nr) || late * 10 > n + 10
		}'
}

# the calls of a program that ends soon
program() {
	trace -e openat "$@" ls / > /dev/null || return 1
	complete 'openat\(.*\) += ' + 4
}

# An event is older than one that was printed before if the VM stops a CPU between its time and its
# output.
in_order() {
	events | awk '$1 + 0 < newest { print "after " newest ": " $0; bad++; next }
		{ newest = $1 + 0 }
		END { exit !NR || bad * 20 > NR }'
}

# Page faults, in a file. Most are in functions that have several callers.
faults() {
	perf trace -F all --no-syscalls -o "${out}" "$@" ls / > /dev/null || return 1
	events | grep 'fault ' | awk -F'\t' '{ frames += $2 }
		END { print NR " faults, " frames " frames"; exit NR < 20 || frames < NR * 5 }'
}

max_events() {
	program --max-events 3 "$@" && [ "$(events | wc -l)" = 3 ]
}

summary() {
	# the load does not wait: its own text has the word
	trace -s -e getppid "$@" python3 "${work}/load.py" "${work}/load.py" "${calls}" || return 1
	cat "${out}"
	awk -v calls="${calls}" '$1 == "getppid" { n += $2 } END { exit n != calls }' "${out}"
}

# What has been read is printed when perf trace is interrupted.
attached() {
	local load trace status
	bash -c 'while sleep 0.05; do :; done' & load=$!
	timeout -s INT 1800 perf trace -p ${load} -e wait4 "$@" 2> "${out}" & trace=$!
	until grep -q 'wait4.* = ' "${out}" || ! kill -0 ${trace}
	do
		sleep 0.1
	done
	kill -INT ${trace}
	wait ${trace}
	status=$?
	kill ${load}
	wait ${load}
	tail "${out}"
	[ "${status}" = 0 ] && complete 'wait4.* += [0-9]' + 5
}

# The entry of poll() is printed without its user half while the thread sleeps, the exit with it.
threads() {
	local nr
	load -e "${getppids},${polls}" || return 1
	nr=$(events | wc -l)
	load -e "${getppids},${polls}" "$@" || return 1
	echo "$(events | wc -l) events, ${nr} without callchains"
	[ "$(events | wc -l)" = "${nr}" ] && in_order &&
	events | grep 'sys_enter_poll.*'$'\t''.*\[user stack: time limit\]' &&
	complete getppid $((2 * calls)) 5 && complete sys_exit_poll + 5
}

# The entry of a system call has no callchain, so no call waits while another one blocks.
syscalls() {
	load -e getppid,poll "$@" || return 1
	complete 'getppid.*\) += ' "${calls}" 5 && complete 'poll.*\) += ' + 5
}

check_in_threads() { # description, command...
	check_if "python3 and CONFIG_FTRACE_SYSCALLS" \
		"$(command -v python3 > /dev/null &&
		   [ -d /sys/kernel/tracing/events/syscalls ] && echo yes)" "$@"
}

if ! perf record -q -o "${work}/perf.data" -e cpu-clock --call-graph defer true 2>/dev/null ||
	! perf evlist -v -i "${work}/perf.data" | grep -q 'defer_callchain: 1'
then
	echo "Skip: the kernel cannot defer user callchains"
	exit 2
fi

check "system calls" program --call-graph fp,defer
check "page faults" faults --call-graph fp,defer
check "--max-events" max_events --call-graph defer
check "-p, interrupted" attached --call-graph fp,defer
check_in_threads "threads, one of them asleep" threads --call-graph fp,defer
check_in_threads "system calls of threads" syscalls --call-graph fp,defer
check_in_threads "summary" summary --call-graph fp,defer

[ "${failures}" = 0 ]
