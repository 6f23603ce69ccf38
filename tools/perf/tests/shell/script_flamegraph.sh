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

# How many samples the graph has, and how many frames its deepest stack, below
# the root and the command
graph_has() { # samples, frames
	"${PYTHON}" - "$@" <<-'END'
	import json, sys
	sys.setrecursionlimit(10000)
	with open('flamegraph.html') as page:
	    line = next(line for line in page if line.startswith('const stacks = ['))
	todo = [(json.loads(line[line.index('['):line.rindex(']') + 1])[0], 0)]
	samples = deepest = 0
	while todo:
	    node, depth = todo.pop()
	    samples += node['v']
	    deepest = max(deepest, depth)
	    todo += [(child, depth + 1) for child in node['c']]
	print(f'{samples} samples, {deepest - 1} frames')
	sys.exit([samples, deepest - 1] != [int(arg) for arg in sys.argv[1:]])
	END
}

needs_no_network() {
	! grep -i -E '(src|href) *=|url\(|@import|https?:' flamegraph.html
}

unmerged() {
	make_data basic && perf script report flamegraph < /dev/null &&
	graph_has 4 6 && needs_no_network
}

merged() {
	make_data basic && perf inject --merge-callchains -i perf.data -o merged.data &&
	mv merged.data perf.data && perf script report flamegraph < /dev/null && graph_has 4 6
}

deep() {
	make_data deepest &&
	perf script --max-stack 600 -s "${PERF_EXEC_PATH}"/scripts/python/flamegraph.py \
		< /dev/null &&
	graph_has 1 512
}

# Of the events in a picture, and their unit: what the page says, and the sum of its weights.
draws() { # event, unit, sum
	grep -q "\"event\": \"$1\", \"unit\": \"$2\"" flamegraph.html &&
	"${PYTHON}" - "$3" <<-'END'
	import re, sys
	with open('flamegraph.html') as page:
	    line = next(line for line in page if line.startswith('const stacks = ['))
	total = sum(int(value) for value in re.findall('"v": ([0-9]+)', line))
	print(f'{total} in all')
	sys.exit(total != int(sys.argv[1]))
	END
}

graph() { # arguments of the script
	rm -f flamegraph.html
	perf script report flamegraph "$@" < /dev/null 2> err
	cat err
}

# One kind of events in a picture, the first one of perf record's command line; not waits
one_event() {
	make_data events && graph && draws cycles samples 2 &&
	[ "$(grep -c flamegraph.py: err)" = 1 ] &&
	grep -q 'drawing cycles only: for cpu-clock or offcpu-time use --event NAME$' err
}

# In a pipe nothing tells of the command line
one_event_of_a_pipe() {
	make_data events || return 1
	perf inject -i perf.data -o - > piped && rm perf.data &&
	perf script -i - -s "${PERF_EXEC_PATH}"/scripts/python/flamegraph.py -- -i - \
		< piped 2> err
	cat err
	draws cpu-clock samples 3 && grep -q 'drawing cpu-clock only: ' err
}

chosen_event() {
	make_data events && graph --event cpu-clock && draws cpu-clock samples 3 &&
	! grep -q flamegraph.py: err || return 1
	# a wait weighs as much as it lasts
	graph -e offcpu-time && draws offcpu-time ns 7000000 || return 1
	graph -e cpu-clock -e offcpu-time && draws 'cpu-clock and offcpu-time' ns 10000000 &&
	graph -e offcpu-time -e cpu-clock && draws 'offcpu-time and cpu-clock' ns 10000000
}

refused_events() {
	make_data events && graph -e cycles -e offcpu-time
	[ ! -e flamegraph.html ] && grep -q 'cycles, offcpu-time count different things' err ||
		return 1
	graph -e nothing
	[ ! -e flamegraph.html ] &&
	grep -q 'no samples of nothing, there are samples of: cpu-clock, ' err
}

check "unmerged data" unmerged
check "merged data" merged
check "one of several events" one_event
[ -z "${PERF_EXEC_PATH}" ] || check "one of several events in a pipe" one_event_of_a_pipe
check "an event that was chosen" chosen_event
check "events that do not go together" refused_events
[ -z "${PERF_EXEC_PATH}" ] || check "a deep stack" deep

[ "${failures}" = 0 ]
