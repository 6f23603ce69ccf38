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

# With PERF_TEST_ALL=all nothing may be left out for want of something.
check_if() { # what is needed, whether it is there, description, command...
	if [ "$2" = yes ]
	then
		check "${@:3}"
	elif [ "${PERF_TEST_ALL:-}" = all ]
	then
		check "$3 [it needs $1]" false
	else
		echo "$3 [left out: it needs $1]"
	fi
}

check_with() { # feature of perf, description, command...
	check_if "$1" "$(has_feature "$1" && echo yes)" "${@:2}"
}

# What perf top and the browsers read keys from: a pipe without an end, as they draw when there
# is no key; nothing is left over from a command before.
new_keys() {
	rm -f "${work}/keys"
	mkfifo "${work}/keys" && exec 3<> "${work}/keys"
}
