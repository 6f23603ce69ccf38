# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions for the tests of deferred user callchains.

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

# With PERF_TEST_ALL=all, a missing requirement is a failure.
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

# Wait until a command succeeds. Give up if the process has ended, or after a time that only a
# hang reaches.
wait_until() { # process, command...
	local end=$((SECONDS + ${wait_limit:-1800}))

	until "${@:2}"
	do
		kill -0 "$1" 2> /dev/null && [ "${SECONDS}" -lt "${end}" ] || return 1
		sleep 0.1
	done
}

# Make a new standard input for perf top and the browsers: a pipe that stays open. They draw only
# while no key can be read, and a closed input would always be readable.
new_keys() {
	rm -f "${work}/keys"
	mkfifo "${work}/keys" && exec 3<> "${work}/keys"
}
