# pypy3 work.py MILLISECONDS
import sys, time

def numbers(seed):
    out = []
    for _ in range(300):
        seed = (seed * 1103515245 + 12345) & 0xffffffff
        out.append(seed)
    return out

def work(seed):
    text = ",".join(str(n) for n in sorted(numbers(seed)))
    return sum(int(t) % 7 for t in text.split(","))

def odd(n, seed):
    return even(n - 1, seed) + 1 if n else work(seed)

def even(n, seed):
    return odd(n - 1, seed) + 2 if n else work(seed)

stop = time.monotonic() + int(sys.argv[1]) / 1000
seed = 1
while time.monotonic() < stop:
    seed = odd(30, seed)
