#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# deferred user callchains in every reader of perf.data files

# The test reads synthetic files, so it runs on any kernel.
# lib/deferred_callchain_data.py makes them and explains their frames.

shelldir=$(dirname "$0")
# shellcheck source=lib/setup_python.sh
. "${shelldir}"/lib/setup_python.sh
# shellcheck source=lib/deferred_callchain.sh
. "${shelldir}"/lib/deferred_callchain.sh

make_data() { # case, more arguments
	"${PYTHON}" "${shelldir}"/lib/deferred_callchain_data.py -o "${work}/$1" "${@:2}" "$1"
}

# Check that the samples of case sleeper, "nanoseconds comm frames" on stdin, are in time order
# and complete. The record of the first sample comes 100 seconds later.
complete_in_order() {
	awk 'NR == 1 && ($2 != "alpha" || $3 != 5) { bad++ }
	     NR > 1 && $1 <= last || $3 != 5 { bad++ } { last = $1 }
	     END { exit bad || NR != 101 }'
}

# Check the samples of case sleeper in a pipe. There, the record of the first sample comes after
# the time limit, so this sample is incomplete: its outermost frame says so. All samples must still
# be in time order.
in_order_in_pipe() {
	awk 'NR == 1 { if ($2 != "alpha" || $3 != 3) bad++; last = $1; next }
	     $1 <= last || $3 != 5 { bad++ } { last = $1 }
	     END { exit bad || NR != 101 }'
}

frames_py() {
	cat > "${work}/frames.py" <<-'END'
	def process_event(event):
	    print(event['sample']['time'], event['comm'], len(event['callchain']))
	END
}

python_script() {
	frames_py
	perf script -s "${work}/frames.py" -i "${work}/sleeper" | complete_in_order
}

python_script_in_pipe() {
	frames_py
	perf inject -i "${work}/sleeper" -o - |
		perf script -s "${work}/frames.py" -i - | in_order_in_pipe || return 1
	perf inject -i "${work}/late" -o - | perf script -s "${work}/frames.py" -i - |
		diff - <(printf '%d000000 alpha %d\n' 10 5 11 3 20 1 30 1 41 5)
}

# Use the callbacks of export-to-sqlite.py and export-to-postgresql.py without a database.
db_export() {
	cat > "${work}/export.py" <<-'END'
	perf_db_export_mode = True
	perf_db_export_callchains = True
	paths = {}
	def call_path_table(path, parent, symbol, ip, *rest):
	    paths[path] = (parent, ip)
	def sample_table(*columns):
	    path, frames = columns[21], 0
	    while path in paths and paths[path][1]:
	        path, frames = paths[path][0], frames + 1
	    print(columns[9], 'alpha' if frames and columns[9] < 1000000000 else 'beta', frames)
	END
	perf script -s "${work}/export.py" -i "${work}/sleeper" > "${work}/out" || return 1
	head -3 "${work}/out"
	complete_in_order < "${work}/out"
}

stackcollapse() {
	local dir
	dir=$(perf --exec-path)
	[ -e "${shelldir}/../../scripts/python" ] && dir=${shelldir}/../..
	PERF_EXEC_PATH=$(realpath "${dir}") perf script -i "${work}/mapped" \
		-s "${dir}/scripts/python/stackcollapse.py" > "${work}/out" || return 1
	diff - "${work}/out" <<-'END'
	deferred;[unknown];[unknown];[unknown];[unknown];[unknown] 1
	in_place;[unknown];[unknown];[unknown] 4
	late;[unknown];[unknown];[unknown];[unknown];[unknown] 1
	unused;[unknown] 1
	END
}

json() {
	perf data convert --to-json "${work}/json" --force -i "${work}/sleeper" || return 1
	"${PYTHON}" - "${work}/json" <<-'END' | complete_in_order
	import json, sys
	for sample in json.load(open(sys.argv[1]))['samples']:
	    print(sample['timestamp'], sample['comm'], len(sample['callchain']))
	END
}

# The outermost frame of an incomplete sample says why, in JSON and in Python scripts.
json_incomplete() {
	perf data convert --to-json "${work}/json" --force -i "${work}/incomplete" || return 1
	"${PYTHON}" - "${work}/json" <<-'END'
	import json, sys
	chains = [sample['callchain'] for sample in json.load(open(sys.argv[1]))['samples']]
	sys.exit([(chain[-1]['symbol'], chain[-1]['dso']) for chain in chains] !=
	         [(f'[user stack: {reason}]', '[incomplete]') for reason in
	          ('thread exited', 'not recorded', 'bad cookie', 'not recorded',
	           'empty record')])
	END
}

python_incomplete() {
	cat > "${work}/outermost.py" <<-'END'
	def process_event(event):
	    frame = event['callchain'][-1]
	    print(frame['sym']['name'], frame['dso'])
	END
	perf script -s "${work}/outermost.py" -i "${work}/incomplete" |
		diff - <(printf '[user stack: %s] [incomplete]\n' \
			'thread exited' 'not recorded' 'bad cookie' 'not recorded' \
			'empty record') &&
	! perf script --no-incomplete-frames -s "${work}/frames.py" -i "${work}/incomplete" |
		awk '$3 > 2' | grep .
}

# Raw data of an event that is not a tracepoint have no format.
json_raw() {
	perf data convert --to-json "${work}/json" --force -i "${work}/rich" &&
	"${PYTHON}" -m json.tool "${work}/json" > /dev/null
}

# A name can have any bytes.
json_bytes() {
	make_data bytes &&
	perf data convert --to-json "${work}/json" --force -i "${work}/bytes" || return 1
	"${PYTHON}" - "${work}/json" <<-'END'
	import json, sys
	names = [sample['comm'] for sample in json.load(open(sys.argv[1], 'rb'))['samples']]
	sys.exit(names != ['caf\u00e9\ufffd'])
	END
}

python_bytes() {
	echo "def process_event(event): print(ascii(event['comm']))" > "${work}/comm.py"
	make_data bytes && perf script -s "${work}/comm.py" -i "${work}/bytes" |
		grep -Fx "'caf\\xe9\\\\xe9'"
}

# Each user frame with a name has the start of its function, and the offset from there.
function_starts() {
	cat > "${work}/starts.py" <<-'END'
	import sys
	sums = []
	for line in sys.stdin:
	    address, start, offset = line.replace('[true+', '').replace(']+', ' ').split()
	    sums.append(int(address, 16) == int(start, 16) + int(offset, 16))
	sys.exit(not sums or not all(sums))
	END
	make_data stripped &&
	perf script --function-starts -F ip,sym,symoff -i "${work}/stripped" |
		awk '$1 ~ /^5500064/ && $2 ~ /^\[true\+0x/ { print substr($1, 8), $2 }' |
		"${PYTHON}" "${work}/starts.py"
}

# Print the user frames of a static program without symbols.
static_frames() { # name of the program, arguments of lib/stripped_elf.py...
	"${PYTHON}" "${shelldir}"/lib/stripped_elf.py "${@:2}" "${work}/$1" &&
	make_data stripped --program "${work}/$1" &&
	perf script -v --function-starts -F ip,sym,symoff -i "${work}/stripped" 2> "${work}/err" |
		sed -n 's/^\t *55[0-9a-f]* //p'
}

# perf finds no symbol table in such a program. Each of its functions has two of the frames.
function_starts_static() { # name of the program, arguments of lib/stripped_elf.py...
	static_frames "$@" | tee "${work}/out" &&
	for address in 402{8,9,a,b}{0,8}0
	do
		printf "[$1+0x%s]+0x%x\\n" "${address}" 0 "${address}" 64
	done | diff - "${work}/out"
}

function_starts_report() {
	static_frames reported > /dev/null &&
	perf report --stdio --function-starts --no-children -g caller -i "${work}/stripped" |
		tee "${work}/out"
	grep -q '\[reported+0x402880\]' "${work}/out"
}

# Without any function, the program counts as one whose symbols cannot be loaded.
function_starts_none() {
	static_frames none --no-fdes | grep -v '^\[unknown\]' && return 1
	cat "${work}/err"
	grep -q '/none, continuing without symbols$' "${work}/err"
}

# Without a symbol table, the functions of a program have names by --function-starts only.
has_stripped() {
	"${PYTHON}" - <<-'END'
	import os, sys
	data = open(os.path.realpath('/bin/true'), 'rb').read()
	sys.exit(b'\0.symtab\0' in data or b'\0.eh_frame\0' not in data)
	END
}

ignored_callees() {
	make_data named &&
	perf report --stdio --ignore-callees '^exit$' -i "${work}/named" | grep -q '\] *exit'
}

# In the stream of CPU 0, a callchain is the number of its entries, followed by the
# entries.
ctf() {
	perf data convert --to-ctf "${work}/ctf" --force -i "${work}/sleeper" || return 1
	"${PYTHON}" - "${work}/ctf/perf_stream_0" <<-'END' | complete_in_order
	import re, struct, sys
	kernel = struct.pack('=QQ', 2**64 - 128, 0xffffffff81000000)
	stream = open(sys.argv[1], 'rb').read()
	for n, match in enumerate(re.finditer(re.escape(kernel), stream)):
	    nr, = struct.unpack('=I', stream[match.start() - 4:match.start()])
	    at = match.end() + 16
	    user = struct.unpack('=Q', stream[at:at + 8])[0] if nr > 4 else 0
	    comm = 'alpha' if user >> 20 == 0x5500064 else 'beta'
	    print(-1 if comm == 'alpha' else user >> 12 & 0xff, comm, nr - 2)
	END
}

has_ctf() {
	! perf data convert --to-ctf "${work}/none" -i /dev/null 2>&1 | grep -q 'not compiled in'
}

# Every sample counts once, even if it is late.
diff_of_two() {
	perf diff -s comm "${work}/mapped" "${work}/mapped" > "${work}/out" || return 1
	grep -q '^ *57\.14% *+0\.00%  *in_place' "${work}/out" &&
	[ "$(grep -c '^ *14\.29% *+0\.00%  *\(deferred\|late\|unused\)' "${work}/out")" = 3 ]
}

buildid_list() {
	perf buildid-list --with-hits -i "${work}/mapped" | awk '{ print $NF }' |
		diff - <(printf '/%s.so\n' deferred late)
}

kvm_report() {
	perf kvm --host -i "${work}/mapped" report --stdio -g caller > "${work}/out" || return 1
	grep -q '^ *57\.14% .*in_place' "${work}/out" &&
	grep -q -- '---0x55000c802002$' "${work}/out" &&
	grep -q -- '---0x550006401002$' "${work}/out"
}

kvm_diff() {
	perf kvm --host diff -s comm "${work}/mapped" "${work}/mapped" > "${work}/out" || return 1
	grep -q '^ *57\.14% *+0\.00%  *in_place' "${work}/out" &&
	[ "$(grep -c '^ *14\.29% *+0\.00%  *\(deferred\|late\|unused\)' "${work}/out")" = 3 ]
}

kvm_buildid_list() {
	perf kvm --host -i "${work}/mapped" buildid-list --with-hits | awk '{ print $NF }' |
		diff - <(printf '/%s.so\n' deferred late)
}

mem_report() {
	make_data mapped --mem || return 1
	perf mem report --stdio -g caller -i "${work}/mapped" > "${work}/out" || return 1
	grep -q '^ *57\.14% *4 .* L3 hit .* HitM ' "${work}/out" &&
	[ "$(grep -c '^ *14\.29% *1 .* L3 hit .* HitM ' "${work}/out")" = 3 ] &&
	grep -q -- '---0x55000c802002$' "${work}/out" &&
	grep -q -- '---0x550006401002$' "${work}/out"
}

mem_raw() {
	[ "$(perf mem report -D -i "${work}/mapped" | grep -c ' 0xffffffff81000000 ')" = 7 ]
}

c2c_report() {
	perf c2c report --stdio -g caller -i "${work}/mapped" > "${work}/out" || return 1
	grep -q 'Load Local HITM  *: *7$' "${work}/out" &&
	grep -q -- '---0x55000c802002$' "${work}/out" &&
	grep -q -- '---0x550006401002$' "${work}/out"
}

make_data sleeper && make_data late && make_data mapped && make_data rich &&
	make_data incomplete || exit 1

check_with libpython "Python script" python_script
check_with libpython "Python script, in a pipe" python_script_in_pipe
check_with libpython "db-export" db_export
check_with libpython "stackcollapse.py" stackcollapse
check "perf data convert --to-json" json
check "perf data convert --to-json, incomplete" json_incomplete
check_with libpython "Python script, incomplete" python_incomplete
check "perf data convert --to-json, raw data" json_raw
check "perf data convert --to-json, any name" json_bytes
check_with libpython "Python script, any name" python_bytes
check_if "stripped /bin/true" "$(has_stripped && echo yes)" "--function-starts" function_starts
check "--function-starts, static program" function_starts_static static
check "--function-starts, section not aligned" function_starts_static shifted --shift 2
check "--function-starts, name of 255 bytes" function_starts_static "$(printf '%0255d' 0)"
check "perf report --function-starts" function_starts_report
check "--function-starts, no function" function_starts_none
check "perf report --ignore-callees" ignored_callees
check_if libbabeltrace "$(has_ctf && echo yes)" "perf data convert --to-ctf" ctf
check "perf diff" diff_of_two
check "perf buildid-list --with-hits" buildid_list
check "perf kvm report" kvm_report
check "perf kvm diff" kvm_diff
check "perf kvm buildid-list" kvm_buildid_list
check "perf mem report" mem_report
check "perf mem report -D" mem_raw
check "perf c2c report" c2c_report

[ "${failures}" = 0 ]
