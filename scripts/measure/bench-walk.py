# For bench-walk: calls getppid() at some depth of calls that the interpreter makes through
# C, and prints how many nanoseconds one call of getppid() took.
#
#	bench-walk.py DEPTH

import os
import sys
import time

CALLS = 100


def leaf():
    best = float("inf")
    for _ in range(8):
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            os.getppid()
        best = min(best, time.perf_counter_ns() - start)
    print(best / CALLS)
    return 0


def nest(depth):
    return max([depth - 1], key=nest) if depth else leaf()


nest(int(sys.argv[1]))
