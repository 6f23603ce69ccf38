# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the tests of deferred user callchains share.

work=$(mktemp -d /tmp/__perf_test.deferred.XXXXX) || exit 1
trap 'kill -KILL $(jobs -p) 2> /dev/null; rm -rf "${work}"' EXIT
failures=0

check() { # description, command...
	if "${@:2}" >"${work}/log" 2>&1
	then
		echo "$1 [ok]"
	else
		echo "$1 [FAILED]"
		head -30 "${work}/log"
		failures=$((failures + 1))
	fi
}

has_feature() {
	perf version --build-options 2>/dev/null | grep -q "$1: \[ *\(\x1b\[[0-9]*m\)*on"
}
