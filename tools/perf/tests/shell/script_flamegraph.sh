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

check "unmerged data" unmerged
check "merged data" merged
[ -z "${PERF_EXEC_PATH}" ] || check "a deep stack" deep

[ "${failures}" = 0 ]
