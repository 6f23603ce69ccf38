#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# flame graphs of deferred user callchains, without a network

shelldir=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib/setup_python.sh
. "${shelldir}"/lib/setup_python.sh

if ! perf version --build-options 2>/dev/null | grep -q 'libpython: \[ *\(\x1b\[[0-9]*m\)*on'
then
	echo "perf has no Python scripts"
	exit 2
fi
if [ -e /usr/share/d3-flame-graph/d3-flamegraph-base.html ]
then
	echo "another template is installed"
	exit 2
fi
[ -x "${shelldir}"/../../scripts/python/bin/flamegraph-report ] &&
	export PERF_EXEC_PATH="${shelldir}"/../..

work=$(mktemp -d /tmp/__perf_test.flame.XXXXX) || exit 1
trap 'rm -rf "${work}"' EXIT
cd "${work}" || exit 1
failures=0

check() { # description, command...
	rm -f flamegraph.html
	if "${@:2}" >log 2>&1
	then
		echo "$1 [ok]"
	else
		echo "$1 [FAILED]"
		head -40 log
		failures=$((failures + 1))
	fi
}

make_data() { # case, more arguments
	"${PYTHON}" "${shelldir}"/lib/deferred_callchain_data.py -o perf.data "$@"
}

# Print a line for each graph of the page: event, unit, samples, sum of weights and the
# number of frames of its deepest stack, without the root and the command.
cat > graphs.py <<'END'
import json, sys
sys.setrecursionlimit(10000)

def load(page, name):
    line = next(line for line in page if line.startswith(f'const {name} = ['))
    return json.loads(line[line.index('['):line.rindex(']') + 1])

def measure(root):
    weight = deepest = 0
    todo = [(root, -1)]
    while todo:
        node, depth = todo.pop()
        weight += node['v']
        deepest = max(deepest, depth)
        todo += [(child, depth + 1) for child in node['c']]
    return weight, deepest

with open('flamegraph.html') as page:
    stacks, abouts = load(page, 'stacks'), load(page, 'abouts')
for stack, about in zip(stacks, abouts, strict=True):
    print(about['event'], about['unit'], about['samples'], *measure(stack))
END

# Check that the page has these graphs, in this order.
draws() { # line of graphs.py...
	"${PYTHON}" graphs.py > graphs && cat graphs && printf '%s\n' "$@" | cmp - graphs
}

needs_no_network() {
	! grep -i -E '(src|href) *=|url\(|@import|https?:' flamegraph.html
}

unmerged() {
	make_data basic && perf script report flamegraph < /dev/null &&
	draws 'cpu-clock:HG samples 4 4 6' && needs_no_network
}

merged() {
	make_data basic && perf inject --merge-callchains -i perf.data -o merged.data &&
	mv merged.data perf.data && perf script report flamegraph < /dev/null &&
	draws 'cpu-clock:HG samples 4 4 6'
}

deep() {
	make_data deepest &&
	perf script --max-stack 600 -s "${PERF_EXEC_PATH}"/scripts/python/flamegraph.py \
		< /dev/null &&
	draws 'cpu-clock:HG samples 1 1 512'
}

graph() { # arguments of the script
	rm -f flamegraph.html
	perf script report flamegraph "$@" < /dev/null 2> err
	cat err
}

# A graph for each event, in the order of perf record's command line, and offcpu-time last.
each_event() {
	make_data events && graph &&
	draws 'cycles samples 2 2 5' 'cpu-clock samples 3 3 5' 'offcpu-time ns 1 7000000 5' &&
	! grep flamegraph.py: err
}

# Other templates draw one graph.
other_template() {
	make_data events &&
	printf '%s\n' 'const stacks = [/** @flamegraph_json **/];' \
		'const abouts = [/** @options_json **/];' > template.html &&
	graph --template "${work}/template.html" && draws 'cycles samples 2 2 5' &&
	[ "$(grep -c flamegraph.py: err)" = 1 ] &&
	grep -q 'drawing cycles only: for cpu-clock or offcpu-time use --event NAME$' err ||
		return 1
	# JSON output also has only one event.
	graph --format json -o stacks.json &&
	grep -q 'drawing cycles only: for cpu-clock or offcpu-time use --event NAME$' err
}

# A pipe has no header with the order of the events: graphs are in the order of first samples.
each_event_of_a_pipe() {
	make_data events || return 1
	perf inject -i perf.data -o - > piped && rm perf.data &&
	perf script -i - -s "${PERF_EXEC_PATH}"/scripts/python/flamegraph.py -- -i - \
		< piped 2> err
	cat err
	draws 'cpu-clock samples 3 3 5' 'cycles samples 2 2 5' 'offcpu-time ns 1 7000000 5'
}

chosen_event() {
	make_data events && graph --event cpu-clock && draws 'cpu-clock samples 3 3 5' &&
	! grep -q flamegraph.py: err || return 1
	# the weight of a wait is its duration
	graph -e offcpu-time && draws 'offcpu-time ns 1 7000000 5' || return 1
	graph -e cpu-clock -e offcpu-time &&
	draws 'cpu-clock and offcpu-time ns 4 10000000 5' &&
	graph -e offcpu-time -e cpu-clock && draws 'offcpu-time and cpu-clock ns 4 10000000 5'
}

refused_events() {
	make_data events && graph -e cycles -e offcpu-time
	[ ! -e flamegraph.html ] && grep -q 'cycles, offcpu-time count different things' err ||
		return 1
	graph -e nothing
	[ ! -e flamegraph.html ] &&
	grep -q 'no samples of nothing, there are samples of: cpu-clock, ' err
}

# Names of any kind appear as text in the page.
hostile_names() {
	make_data hostile && graph && draws 'cpu-clock:HG samples 1 1 5' &&
	[ "$(grep -c '</script' flamegraph.html)" = 1 ] &&
	grep -q -F '"n": "\u003c/script>\u003cb>/\u002a* @flamegraph_json **/ (100)"' \
		flamegraph.html
}

# The data have no kernel symbols: kernel frames must be recognized by their addresses.
kernel_frames() {
	make_data events && graph -e cpu-clock &&
	grep -o '"n": "\[unknown\]", "l": "[a-z]*"' flamegraph.html | uniq -c | tee frames &&
	awk '{ print $1, $NF }' frames | cmp - <(printf '%s\n' '3 ""' '2 "kernel"')
}

# A frame without a symbol has the name of its file, and the start of its function.
stripped() {
	"${PYTHON}" "${shelldir}"/lib/stripped_elf.py true && make_data stripped --program true &&
	graph &&
	grep -o '"n": "\[true+0x[0-9a-f]*\]"' flamegraph.html | sort -u | wc -l | grep -qx 8
}

# The outermost frame of an incomplete sample says why its user callchain is missing.
incomplete() {
	make_data incomplete && graph &&
	grep -q '"n": "\[user stack: thread exited\]' flamegraph.html
}

any_bytes() {
	make_data bytes && graph && grep -q 'xe9 (100)"' flamegraph.html
}

check "unmerged data" unmerged
check "merged data" merged
check "a graph for each event" each_event
check "one event for other templates" other_template
[ -z "${PERF_EXEC_PATH}" ] || check "a graph for each event in a pipe" each_event_of_a_pipe
check "an event that was chosen" chosen_event
check "events that do not go together" refused_events
check "hostile names" hostile_names
check "frames without symbols" stripped
check "samples without a user callchain" incomplete
check "a name that is not UTF-8" any_bytes
check "frames of the kernel" kernel_frames
[ -z "${PERF_EXEC_PATH}" ] || check "a deep stack" deep

[ "${failures}" = 0 ]
