#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# deferred user callchains in perf.data files

# The test reads synthetic files, so it runs on any kernel.
# lib/deferred_callchain_data.py makes them and explains their frames.

shelldir=$(dirname "$0")
# shellcheck source=lib/setup_python.sh
. "${shelldir}"/lib/setup_python.sh
# shellcheck source=lib/deferred_callchain.sh
. "${shelldir}"/lib/deferred_callchain.sh

native=$("${PYTHON}" -c 'import sys; print(sys.byteorder)')

make_data() { # case, byte order, more arguments
	"${PYTHON}" "${shelldir}"/lib/deferred_callchain_data.py -o "${work}/$1.$2" \
		--endian "$2" "${@:3}" "$1"
}

stacks() { # file, more arguments
	perf script -F comm,tid,time,ip -i "$@" 2>"${work}/err"
}

same_in_both_orders() { # case
	make_data "$1" little && make_data "$1" big || return 1
	stacks "${work}/$1.little" > "${work}/little" || return 1
	stacks "${work}/$1.big" > "${work}/big" || return 1
	diff "${work}/little" "${work}/big"
}

# Print all views of the data. They must not depend on PERF_CONTEXT_USER in front of the frames
# of a record. perf inject --merge-callchains refuses data in the other byte order.
all_views() { # case, byte order, more arguments for the data
	make_data "$@" || return 1
	stacks "${work}/$1.$2" && stacks "${work}/$1.$2" --no-merge-callchains &&
	perf report --stats -i "${work}/$1.$2" 2>/dev/null || return 1
	[ "$2" = "${native}" ] || return 0
	perf inject --merge-callchains -i "${work}/$1.$2" -o "${work}/merged" >/dev/null 2>&1 &&
	stacks "${work}/merged" || return 1
	perf inject -i "${work}/$1.$2" -o - 2>/dev/null | perf script -i - 2>/dev/null
}

same_in_both_forms() { # case, byte order
	all_views "$@" > "${work}/bare" && all_views "$@" --prefixed > "${work}/prefixed" ||
		return 1
	diff "${work}/bare" "${work}/prefixed"
}

# The sample with this time has these user frames (thread, cookie and depth) and no others.
has_user_frames() { # file, time, frames...
	stacks "$1" | awk -v time=" $2: " 'index($0, time) { on = 1; next }
		/^$/ { on = 0 } on && /^\t *55/ { print $1 }' > "${work}/frames"
	printf '%s\n' "${@:3}" | diff - "${work}/frames"
}

count_is() { # file, what, number
	perf report --stats -i "$1" 2>/dev/null | grep -q "^ *$2: *$3\$"
}

merged() {
	has_user_frames "${work}/basic.$1" 0.010000 550006401000 550006401001 550006401002 &&
	has_user_frames "${work}/basic.$1" 0.013000 550006403000 550006403001 &&
	count_is "${work}/basic.$1" stitched 4 &&
	count_is "${work}/basic.$1" incomplete 0
}

unmerged() {
	perf script --no-merge-callchains -i "${work}/basic.$1" > "${work}/out" 2>/dev/null ||
		return 1
	[ "$(grep -c ': DEFERRED CALLCHAIN \[cookie: [123]\]$' "${work}/out")" = 3 ] &&
	[ "$(grep -c $'^\t               [123] (cookie) (\[unknown\])$' "${work}/out")" = 4 ] &&
	! grep -q -e fffffffffffffd80 -e 'deferred user callchain' "${work}/out" || return 1
	perf script --no-merge-callchains --stats -i "${work}/basic.$1" 2>/dev/null |
		grep -q '^ *not merged: *4$'
}

# The lines must have the form that perf of mainline prints, so that scripts for mainline's perf
# can parse them.
unmerged_lines() {
	make_data mainline little || return 1
	perf script --no-merge-callchains -i "${work}/mainline.little" 2>/dev/null |
		awk '/^threads +100[0-7] \[00[0-3]\] +[0-9.]+: DEFERRED CALLCHAIN / &&
		     /: DEFERRED CALLCHAIN \[cookie: [0-9a-f]+\]$/ {
			records++; in_record = 1; next }
		     /^threads +100[0-7] \[00[0-3]\] +[0-9.]+: +1 cpu-clock[:A-Za-z]* *$/ {
			samples++; in_record = 0; next }
		     /^$/ { next }
		     /^\t +[0-9a-f]+ \(cookie\) \(\[unknown\]\)$/ && !in_record { cookies++; next }
		     /^\t *ffffffff8100000[01] \[unknown\] \(\[unknown\]\)$/ && !in_record { next }
		     /^\t +55[0-9a-f]+ \[unknown\] \(\[unknown\]\)$/ && in_record { frames++; next }
		     { print; bad++ }
		     END { print records, samples, cookies, frames, bad + 0
			   exit !(!bad && records > 400 && samples >= 740 && cookies == samples &&
				  frames > records) }'
}

# The frames of records do not depend on the kind of event that the records belong to.
unmerged_frames() { # arguments for the data
	make_data basic little "$@" || return 1
	perf script --no-merge-callchains -i "${work}/basic.little" > "${work}/out" 2>/dev/null ||
		return 1
	[ "$(grep -A4 'DEFERRED CALLCHAIN \[cookie: 2\]$' "${work}/out" |
		grep -c $'^\t *55000c80200[0-3] ')" = 4 ]
}

injected_build_ids() { # arguments for the data
	make_data basic little "$@" &&
	perf inject -b -i "${work}/basic.little" -o "${work}/injected" &&
	count_is "${work}/injected" stitched 4
}

# The raw dump shows the contents of the file unchanged.
raw_dump() { # command, entries of a record before its frames, more arguments for the data
	make_data basic little "${@:3}" || return 1
	perf "$1" -D -i "${work}/basic.little" > "${work}/out" 2>/dev/null || return 1
	grep -q 'PERF_RECORD_CALLCHAIN_DEFERRED(IP, 0x2): 200/200: 0x2$' "${work}/out" &&
	grep -A1 'CALLCHAIN_DEFERRED(IP, 0x2): 200/200' "${work}/out" |
		grep -q "FP chain: nr:$((4 + $2))\$" &&
	grep -q "^\.\.\.\.\.  $2: 000055000c802000\$" "${work}/out" &&
	[ "$(grep -c '(deferred), cookie: 0x' "${work}/out")" = 4 ]
}

# At least 97 of 100 samples have their user half, and none has a wrong one.
mainline() { # byte order, more arguments for the data
	make_data mainline "$1" "${@:2}" || return 1
	stacks "${work}/mainline.$1" | awk '
		function check() { ok += tid && n == 1 + tid % 8 }
		/ [0-9]+\.[0-9]+: *$/ { check(); tid = $2; n = 0; samples++; next }
		/^\t *55/ { n++; if (substr($1, 3, 5) != sprintf("%05x", tid)) bad++ }
		END { check(); print samples, ok, bad + 0
		      exit !(samples >= 740 && ok >= 0.97 * samples && !bad) }'
}

call_graph() {
	perf report --stdio -g caller --no-children -i "${work}/basic.little" 2>/dev/null |
		grep -q 0x55000c802003
}

# Run perf report --tui in a pseudo terminal.  With all entries expanded, it shows a frame
# that only a deferred record has.
tui() {
	timeout 1800 "${PYTHON}" - "${work}/basic.little" <<-'END'
	import fcntl, os, pty, select, struct, sys, termios, time
	pid, tty = pty.fork()
	if pid == 0:
	    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 50, 120, 0, 0))
	    os.environ['TERM'] = 'vt100'
	    os.execvp('perf', ['perf', 'report', '--tui', '--no-children', '-g', 'caller',
	                       '-i', sys.argv[1]])
	def screen(*texts):
	    shown, end = b'', time.time() + 600
	    while not any(text in shown for text in texts):
	        if not select.select([tty], [], [], max(0, end - time.time()))[0]:
	            sys.exit(f'none of {texts} in {shown[-3000:]}')
	        shown += os.read(tty, 65536)
	    return shown
	frame, last_row, hint = b'55000c802003', b' beta ', b'Press any key'
	shown = screen(last_row, hint)
	if hint in shown:
	    os.write(tty, b' ')
	    shown = screen(last_row)
	if frame in shown:
	    sys.exit('expanded from the start')
	os.write(tty, b'E')
	screen(frame)
	os.write(tty, b'q')
	sys.exit(os.waitpid(pid, 0)[1] != 0)
	END
}

injected() { # arguments of perf inject
	perf inject "$@" -i "${work}/random.little" -o "${work}/injected" || return 1
	stacks "${work}/random.little" > "${work}/before" || return 1
	stacks "${work}/injected" | diff "${work}/before" - || return 1
	[ "$(perf script --no-merge-callchains -i "${work}/injected" 2>/dev/null |
		grep -c 'DEFERRED CALLCHAIN \[cookie: [0-9a-f]*\]$')" -gt 1000 ]
}

# From a pipe, perf script also prints symbols and objects.
piped() {
	stacks "${work}/random.little" --no-merge-callchains > "${work}/bare" &&
	stacks "${work}/random.little" > "${work}/before" || return 1
	perf inject -i "${work}/random.little" -o - |
		perf script --no-incomplete-frames -F comm,tid,time,ip -i - 2>/dev/null |
		sed 's/^\(\t *[0-9a-f]*\) .*/\1/' | diff "${work}/before" - || return 1
	! cmp -s "${work}/bare" "${work}/before"
}

# The file has the other byte order. In the pipe, the header features that describe the machine
# must be in the byte order of this machine, so perf inject must not copy them unchanged.
piped_foreign() {
	make_data basic big --mem && stacks "${work}/basic.big" > "${work}/before" || return 1
	perf inject -i "${work}/basic.big" -o - |
		perf script -F comm,tid,time,ip -i - 2>/dev/null |
		sed 's/^\(\t *[0-9a-f]*\) .*/\1/' | diff "${work}/before" - &&
		grep -q $'^\t *55' "${work}/before"
}

nr_records() { # file
	perf script -D -i "${work}/$1" 2>/dev/null | grep -c PERF_RECORD_CALLCHAIN_DEFERRED
}

# If no event has the flag of deferral, a marker in a callchain is not a real one: a program may
# have put that value on its stack.
no_flags() {
	make_data basic little --no-flags || return 1
	perf script --stats -i "${work}/basic.little" > "${work}/out" 2>&1 &&
	perf script -i "${work}/basic.little" > "${work}/before" 2>/dev/null &&
	make_data basic little || return 1
	grep -q 'clock' "${work}/before" && grep -q '^ *stitched: *0$' "${work}/out" &&
	! grep -q 'lack their deferred' "${work}/out" &&
	make_data basic little --no-flags &&
	perf inject --merge-callchains -i "${work}/basic.little" -o "${work}/same" 2>/dev/null &&
	[ "$(nr_records basic.little)" -gt 0 ] &&
	[ "$(nr_records basic.little)" = "$(nr_records same)" ] &&
	make_data basic little
}

# With -G, perf script prints neither callchains nor records.
without_callchains() {
	perf script -G --no-merge-callchains -i "${work}/basic.little" > "${work}/out" \
		2>/dev/null &&
	[ -s "${work}/out" ] && ! grep -q DEFERRED "${work}/out"
}

per_event_dump() {
	(cd "${work}" && perf script --per-event-dump --no-merge-callchains -i basic.little) \
		> "${work}/out" 2>/dev/null &&
	! grep -q DEFERRED "${work}/out" && grep -q DEFERRED "${work}"/basic.little.*.dump
}

# Attrs of the first version can have a size of zero, in the header of a file and in events.
first_attrs() { # byte order
	make_data basic "$1" && stacks "${work}/basic.$1" > "${work}/before" &&
	make_data basic "$1" --first-attrs && stacks "${work}/basic.$1" > "${work}/after" ||
		return 1
	diff "${work}/before" "${work}/after" && grep -q $'^\t *55' "${work}/after"
}

first_attrs_piped() {
	make_data basic little && stacks "${work}/basic.little" > "${work}/before" &&
	make_data basic little --first-attrs || return 1
	perf inject -i "${work}/basic.little" -o - |
		perf script -F comm,tid,time,ip -i - 2>/dev/null |
		sed 's/^\(\t *[0-9a-f]*\) .*/\1/' | diff "${work}/before" -
}

# perf bench also writes an attr with a size of zero into a pipe.
inject_bench() {
	perf bench internals inject-build-id -i 1 > "${work}/out" 2>/dev/null
	[ "$(grep -c '  Average build-id.* took: [0-9.]* msec' "${work}/out")" = 2 ]
}

# Each sample has frames of its own thread only, and no sample is lost.
random_is_exact() {
	local all
	all=$(perf report --stats -i "${work}/random.little" 2>/dev/null |
		awk '/SAMPLE events/ { print $3; exit }')
	stacks "${work}/random.little" | awk -v all="${all}" '
		/ [0-9]+\.[0-9]+: *$/ { tid = $2; samples++; next }
		/^\t *55/ { frames++; if (substr($1, 3, 5) != sprintf("%05x", tid)) bad++ }
		END { exit !(!bad && frames > 5000 && samples == all) }'
}

incomplete() {
	count_is "${work}/incomplete.little" incomplete 5 &&
	count_is "${work}/incomplete.little" "no record" 2 &&
	count_is "${work}/incomplete.little" "thread exit" 1 &&
	count_is "${work}/incomplete.little" "bad cookie" 1 &&
	count_is "${work}/incomplete.little" "empty record" 1 &&
	has_user_frames "${work}/incomplete.little" 0.014000 55000c803000 &&
	has_user_frames "${work}/incomplete.little" 0.016000 55000c805000 || return 1
	stacks "${work}/incomplete.little" >/dev/null
	[ "$(grep -c 'lack their deferred user callchain' "${work}/err")" = 1 ]
}

# Below a sample there are only frames, even if the sample is incomplete. Without merging, there
# is also a line with the cookie.
frames_only() {
	perf script -i "${work}/incomplete.little" > "${work}/out" 2>/dev/null || return 1
	cat "${work}/out"
	[ "$(grep -c 'cpu-clock.*: $' "${work}/out")" = 5 ] &&
	grep -v 'user stack' "${work}/out" > "${work}/without" &&
	! grep $'^\t' "${work}/without" | grep -v -E $'^\t *[0-9a-f]+ [^ ]+ \\(.*\\)$' &&
	perf script --no-merge-callchains -i "${work}/incomplete.little" 2>/dev/null |
		grep -q $'^\t *2 (cookie) (\\[unknown\\])$'
}

# The outermost frame says why the user callchain is missing, in the shape of a frame. It is not
# printed without a name.
incomplete_frames() {
	local off=(perf script --no-incomplete-frames -i "${work}/incomplete.little")

	perf script -i "${work}/incomplete.little" > "${work}/out" 2>/dev/null &&
	printf '[call-graph]\n\tincomplete-frames = false\n' > "${work}/config" || return 1
	cat "${work}/out"
	awk -v RS= -F '\n' '{ sub(/^\t *[0-9a-f]+ /, "", $NF); print $NF }' "${work}/out" |
		diff - <(printf '[user stack: %s]+0x0 ([incomplete])\n' \
			'thread exited' 'not recorded' 'bad cookie' 'not recorded' \
			'empty record') || return 1
	grep -v 'user stack' "${work}/out" | diff - <("${off[@]}" 2>/dev/null) &&
	grep -v 'user stack' "${work}/out" | diff - <(PERF_CONFIG=${work}/config \
		perf script -i "${work}/incomplete.little" 2>/dev/null) &&
	stacks "${work}/incomplete.little" |
		diff - <(stacks "${work}/incomplete.little" --no-incomplete-frames) || return 1
	[ "$(perf script -F ip,sym -i "${work}/incomplete.little" 2>/dev/null |
		grep -c ' \[user stack: ')" = 5 ] &&
	[ "$(perf script -F ip,dso -i "${work}/incomplete.little" 2>/dev/null |
		grep -c ' (\[incomplete\])$')" = 5 ]
}

# perf report shows these frames, and they are a sort key.
incomplete_in_report() {
	local by_reason

	perf report --stdio -G --no-children -i "${work}/incomplete.little" 2>/dev/null |
		grep -q -- '---.user stack: thread exited.$' || return 1
	by_reason=(perf report --stdio -g none -p '^.user stack' -i "${work}/incomplete.little")
	"${by_reason[@]}" --no-children --sort parent 2>/dev/null |
		sed -n 's/ *$//; s/^ *\([0-9]\)/\1/p' |
		diff - <(printf '%s\n' '40.00%  [user stack: not recorded]' \
			'20.00%  [user stack: bad cookie]' '20.00%  [user stack: empty record]' \
			'20.00%  [user stack: thread exited]')
}

# One incomplete sample of a hundred causes no warning.
few() {
	make_data few little &&
	count_is "${work}/few.little" "deferred samples" 100 &&
	count_is "${work}/few.little" incomplete 1 &&
	count_is "${work}/few.little" "end of data" 1 &&
	count_is "${work}/few.little" "duplicate records" 1 || return 1
	[ "$(stacks "${work}/few.little" | grep -c $'^\t *55')" = 297 ] &&
	! grep 'lack their deferred user callchain' "${work}/err"
}

says_why() { # cause, what to try
	cat "${work}/err"
	grep -q -e "$1" "${work}/err" && grep -q -e "$2" "${work}/err"
}

# Check the printed reason for one sample without its user half.
says_why_of() { # case, cause, what to try, more arguments of perf script
	make_data "$1" little && stacks "${work}/$1.little" "${@:4}" > /dev/null &&
	says_why "$2" "$3"
}

reasons() {
	says_why_of no_record "no record before the thread's next kernel entry or execve" \
		"larger 'perf record -m'" &&
	says_why_of no_record_at_end 'no record before the end of the data' \
		'record for longer' &&
	says_why 'no record before' '--switch-output, their records may be in the next file' &&
	says_why_of no_record_at_exit "no record before the thread's exit" \
		"larger 'perf record -m'" &&
	says_why_of no_cookie 'the sample has no valid cookie' 'The data is damaged' &&
	make_data many little &&
	perf inject -i "${work}/many.little" -o - | with_limit 4K perf script -i - \
		>/dev/null 2>"${work}/err" &&
	says_why 'the memory limit was reached before the record was read' \
		"larger 'perf config call-graph.defer-limit'" &&
	! grep -e --defer-limit "${work}/err"
}

# The queue is too small: samples that it cannot hold are delivered without their
# user half.
queue_size() {
	make_data random little &&
	printf '[report]\n\tqueue-size = 100000\n' > "${work}/config" &&
	perf inject -i "${work}/random.little" -o - |
		PERF_CONFIG="${work}/config" perf report --stats -i - >"${work}/out" &&
	grep -q '^ *deferred samples: *2830$' "${work}/out" &&
	grep -q '^ *limit: *[1-9]' "${work}/out"
}

lost() {
	make_data lost little &&
	count_is "${work}/lost.little" "lost record" 1 &&
	count_is "${work}/lost.little" "stitched" 1 &&
	count_is "${work}/lost.little" "orphan records" 1 || return 1
	stacks "${work}/lost.little" >/dev/null
	says_why 'the record was lost because the buffer was full' \
		"larger 'perf record -m', or a lower frequency"
}

# A sample that is delivered late has the thread's name and map of its own time. A later sample
# has the new name and map.
state() {
	make_data state little &&
	perf script -F comm,tid,time,ip,sym,dso -i "${work}/state.little" 2>/dev/null |
		awk '/^before .* 0\.010000:/ { want = "(/lib/old)" }
		     /^after .* 0\.081000:/ { want = "(/lib/new)" }
		     /^\t *55/ { if ($NF == want) found++; want = "" }
		     END { exit found != 2 }'
}

script_stats() {
	perf script --stats -i "${work}/late.little" 2>/dev/null > "${work}/out" &&
	grep -q '^ *stitched: *2$' "${work}/out" &&
	grep -q '^ *SAMPLE events: *5 ' "${work}/out"
}

counts() {
	perf report --stats "$@" 2>/dev/null | sed -n '/^Deferred/,/deferred records/p'
}

piped_stats() {
	local case

	for case in incomplete lost late; do
		counts -i "${work}/${case}.little" > "${work}/file"
		perf inject -i "${work}/${case}.little" -o - | counts -i - > "${work}/pipe"
		grep -q 'deferred samples' "${work}/file" &&
		diff "${work}/file" "${work}/pipe" || return 1
	done
}

# Samples are printed in time order, no matter when their records come.
in_order() {
	local case

	for case in late lost incomplete random expire no_record; do
		make_data "${case}" little &&
			stacks "${work}/${case}.little" > "${work}/out" || return 1
		perf inject -i "${work}/${case}.little" -o - 2>/dev/null |
			perf script -F comm,tid,time,ip -i - 2>/dev/null >> "${work}/out"
		awk '/^[^\t]/ { time = $(NF) + 0; if (time < last) again++; last = time; n++ }
		     END { exit !(again <= 1 && n >= 2) }' "${work}/out" || return 1
	done
}

# A sample keeps the time at which it was taken, even if its record comes late.
relative_times() {
	local option

	for option in --reltime --deltatime; do
		perf script "${option}" -F tid,time -i "${work}/late.little" 2>/dev/null |
			awk '/:/ { n++; if ($2 + 0 > 1) bad++ }
			     END { exit bad || n != 5 }' || return 1
	done
}

with_limit() { # limit, command...
	printf '[call-graph]\n\tdefer-limit = %s\n' "$1" > "${work}/config"
	PERF_CONFIG=${work}/config "${@:2}"
}

refuses_limit() { # limit
	! with_limit "$1" perf report --stats -i "${work}/many.little" \
		>"${work}/out" 2>"${work}/err" &&
	grep -q "^ *call-graph.defer-limit: invalid size '$1': " "${work}/err"
}

# All commands that read pipes obey the limit. The limit does not matter for files: their samples
# need not wait in the queue.
limit() {
	local size command

	make_data many little || return 1
	# in 64 bits, 2^34 + 1 gigabytes wrap around to 1 gigabyte
	for size in x 5x 5kk 0 0g -1 -5m 17179869185g 99999999999999999999; do
		refuses_limit "${size}" || return 1
	done
	for size in 8192 4K 1g 8000000000g; do
		with_limit "${size}" perf report --stats -i "${work}/many.little" \
			>/dev/null 2>&1 || return 1
	done
	count_is "${work}/many.little" incomplete 0 || return 1
	perf inject -i "${work}/many.little" -o "${work}/piped" >/dev/null 2>&1
	perf inject -i "${work}/many.little" -o - > "${work}/pipe" 2>/dev/null
	for command in "report --stats" "script --stats" \
		"inject --merge-callchains -o /dev/null"; do
		with_limit 8K perf ${command} -i - < "${work}/pipe" > "${work}/out" 2>&1
		grep -q -e '^ *limit: *[1-9][0-9]$' -e 'callchains, [1-9][0-9]* incomplete' \
			"${work}/out" || return 1
	done
	with_limit 8K perf report --stats -i "${work}/many.little" 2>/dev/null |
		grep -q '^ *incomplete: *0$'
}

# The second entry context has its own stack, although both entry contexts have the same cookie.
again() {
	make_data again little || return 1
	perf script -F tid,ip -i "${work}/again.little" > "${work}/out" 2> /dev/null &&
		grep -q bbbb000 "${work}/out" || return 1
	perf inject -i "${work}/again.little" -o - 2> /dev/null |
		perf script -F tid,ip -i - > "${work}/out" 2> /dev/null
	[ "$(grep -c aaaa000 "${work}/out")" = 1 ] && [ "$(grep -c bbbb000 "${work}/out")" = 1 ]
}

# A pipe may never end, so there a sample waits two seconds only.  A pipe that was saved in a
# file has an end, so there a sample waits until its record is read.
expired() {
	make_data expire little &&
	count_is "${work}/expire.little" "stitched" 2 || return 1
	perf inject -i "${work}/expire.little" -o - > "${work}/pipe" || return 1
	# shellcheck disable=SC2002 # perf must read from a pipe
	cat "${work}/pipe" | perf script --stats -i - 2>/dev/null > "${work}/out"
	grep -q '^ *stitched: *1$' "${work}/out" && grep -q '^ *expired: *1$' "${work}/out" &&
		grep -q '^ *orphan records: *1$' "${work}/out" || return 1
	perf script --stats -i - < "${work}/pipe" 2>/dev/null | grep -q '^ *stitched: *2$' &&
	count_is "${work}/pipe" stitched 2
}

malformed() {
	perf script -D -i "${work}/malformed.little" > "${work}/out" 2>/dev/null || return 1
	[ "$(grep -c 'CALLCHAIN_DEFERRED.* size:[0-9]*: malformed, ignored$' \
		"${work}/out")" = 10 ] &&
	grep -q 'CALLCHAIN_DEFERRED(IP, 0x2): 100/100: 0x1 nr:5 size:88: ' "${work}/out" || return 1
	count_is "${work}/malformed.little" "deferred records" 11 &&
	count_is "${work}/malformed.little" "malformed records" 10 &&
	count_is "${work}/malformed.little" "bad cookie" 3 || return 1
	stacks "${work}/malformed.little" | grep -q $'^\t *55' && return 1
	grep -q '^Ignored 10 deferred callchain records: size or contents invalid' "${work}/err"
}

# A marker in a callchain in place: no record is stitched, and perf discards the callchain, as for
# any other invalid context.
stray_marker() {
	make_data stray_marker little &&
	count_is "${work}/stray_marker.little" incomplete 0 &&
	count_is "${work}/stray_marker.little" "orphan records" 1 || return 1
	! stacks "${work}/stray_marker.little" | grep -q $'^\t *55'
}

# Folders of perf record --threads give the same output as a file, in time order.
folder() { # files in it
	local case

	for case in basic late sleeper mainline incomplete many_names random
	do
		rm -rf "${work}/${case}.folder"
		make_data "${case}" little &&
		"${PYTHON}" "${shelldir}"/lib/deferred_callchain_data.py --endian little \
			--folder "$1" -o "${work}/${case}.folder" "${case}" &&
		stacks "${work}/${case}.little" > "${work}/plain" &&
		stacks "${work}/${case}.folder" > "${work}/out" &&
		diff "${work}/plain" "${work}/out" && [ -s "${work}/out" ] || return 1
	done
	count_is "${work}/sleeper.folder" incomplete 0 &&
	count_is "${work}/sleeper.folder" stitched 101
}

trimmed() {
	make_data deep little --max-stack 16 &&
	[ "$(stacks "${work}/deep.little" | grep -c $'^\t *55')" = 13 ]
}

truncated() { # byte order
	local size rc
	size=$(stat -c %s "${work}/random.$1") || return 1
	for size in 0 50 104 300 423 424 500 1000 4095 4096 4097 8192 65536 $((size - 1)) "${size}"
	do
		head -c "${size}" "${work}/random.$1" > "${work}/cut"
		timeout 1800 perf script -i "${work}/cut" > "${work}/out" 2> "${work}/err"
		rc=$?
		if [ ${rc} = 124 ] || { [ ${rc} -gt 128 ] && [ ${rc} -lt 160 ]; }
		then
			echo "status ${rc} after ${size} bytes"
			return 1
		fi
	done
}

python_script() {
	cat > "${work}/frames.py" <<-'END'
	def process_event(event):
	    print(event['comm'], [hex(frame['ip']) for frame in event['callchain']])
	END
	perf script -s "${work}/frames.py" -i "${work}/basic.little" > "${work}/out" 2>/dev/null ||
		return 1
	grep -q "alpha.*0xffffffff81000001.*0x550006401000" "${work}/out" &&
		! grep -q fd80 "${work}/out"
}

# Scripts get samples with their kernel half and the cookie, and the deferred records.
unmerged_python_script() {
	cat > "${work}/unmerged.py" <<-'END'
	def frames(callchain):
	    return ''.join(f" {frame['ip']:x}" for frame in callchain)
	def process_event(event):
	    sample = event['sample']
	    print(sample['tid'], f"{event['deferred_cookie']}:" + frames(event['callchain']))
	def callchain_deferred(ts, cpu, pid, tid, machine_pid, cookie, callchain, *x):
	    print(ts, cpu, pid, tid, machine_pid, f'{cookie}:' + frames(callchain))
	END
	perf script --no-merge-callchains -s "${work}/unmerged.py" -i "${work}/basic.little" |
		tee "${work}/out"
	diff - "${work}/out" <<-'END' || return 1
	100 1: ffffffff81000000 ffffffff81000001
	200 2: ffffffff81000000 ffffffff81000001
	100 1: ffffffff81000000 ffffffff81000001
	100 3:
	20000000 0 200 200 0 2: 55000c802000 55000c802001 55000c802002 55000c802003
	21000000 0 100 100 0 1: 550006401000 550006401001 550006401002
	22000000 0 100 100 0 3: 550006403000 550006403001
	END
	perf script --no-merge-callchains -s "${work}/frames.py" -i "${work}/basic.little" |
		diff - <(printf "%s\n" \
			"alpha ['0xffffffff81000000', '0xffffffff81000001']" \
			"beta ['0xffffffff81000000', '0xffffffff81000001']" \
			"alpha ['0xffffffff81000000', '0xffffffff81000001']" 'alpha []')
}

perl_script() {
	cat > "${work}/frames.pl" <<-'END'
	sub process_event {
		my ($event, $attr, $sample, $raw, $callchain) = @_;
		print join(' ', map { sprintf('%x', $_->{ip}) } @$callchain), "\n";
	}
	END
	perf script -s "${work}/frames.pl" -i "${work}/basic.little" > /dev/null 2>"${work}/err"
}

for case in in_place basic late incomplete foreign malformed duplicate deep reuse random
do
	check "${case}: both byte orders" same_in_both_orders "${case}"
	check "${case}: both forms of records" same_in_both_forms "${case}" little
	check "${case}: both forms of records, other byte order" same_in_both_forms "${case}" big
done
check "merged" merged little
check "merged, other byte order" merged big
check "from a file of the other byte order into a pipe" piped_foreign
check "attrs without flags" no_flags
check "perf script -G" without_callchains
check "perf script --per-event-dump" per_event_dump
check "unmerged" unmerged little
check "unmerged, other byte order" unmerged big
check "unmerged, lines as mainline prints them" unmerged_lines
check "merged, as mainline records it" mainline little
check "merged, as mainline records it, other byte order" mainline big
check "perf script -D, context in records" raw_dump script 1 --prefixed
check "perf script -D" raw_dump script 0
check "perf report -D" raw_dump report 0
check "perf report" call_graph
check_with libslang "perf report --tui" tui
check "perf inject" injected
check "perf inject -b" injected -b
check "unmerged, event of another type" unmerged_frames --hardware
check "unmerged, event with LBR" unmerged_frames --lbr
check "perf inject -b, event with LBR" injected_build_ids --lbr
check "pipe" piped
check "attrs of the first version" first_attrs little
check "attrs of the first version, other byte order" first_attrs big
check "attrs of the first version in a pipe" first_attrs_piped
check "perf bench internals inject-build-id" inject_bench
check "random schedule" random_is_exact
check "incomplete" incomplete
check "incomplete: frames only" frames_only
check "incomplete: outermost frame" incomplete_frames
check "incomplete: perf report" incomplete_in_report
check "few are incomplete" few
check "lost" lost
check "warnings" reasons
check "state of threads" state
check "perf script --stats" script_stats
check "perf report --stats of a pipe" piped_stats
check "perf script with relative times" relative_times
check "limit" limit
check "limit of the queue" queue_size
check "in the order of time" in_order
check "limit of time in a pipe" expired
check "a cookie that comes again after a minute" again
check "folder of one file" folder 1
check "folder of three files" folder 3
check "malformed" malformed
check "a marker in a user half in place" stray_marker
check "trimmed to max-stack" trimmed
check "truncated" truncated little
check "truncated, other byte order" truncated big
check_with libpython "Python script" python_script
check_with libpython "Python script, unmerged" unmerged_python_script
check_with libperl "Perl script" perl_script

[ "${failures}" = 0 ]
