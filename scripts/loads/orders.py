"""A program to be sampled with "python3 -X perf". It reads orders, adds them up for each customer,
and writes a page with the sums.

	orders.py MS N    do this for MS milliseconds, and at least N times

main() calls serve(), which calls read_orders(), parse(), sum_up() and write_page(). It imports
little, so that it starts fast.
"""

import os
import sys
import time

CUSTOMERS = "Ada", "Barbara", "Grace", "Hedy", "Radia"
ORDERS = "\n".join(f"{CUSTOMERS[i % 5]}, {i * 7 % 100}" for i in range(60)).encode()


def read_orders(pipe):
    os.write(pipe[1], ORDERS)
    return os.read(pipe[0], len(ORDERS)).decode()


def parse_order(line):
    name, price = line.split(", ")
    return name.upper(), int(price)


def parse(text):
    return [parse_order(line) for line in text.splitlines()]


def by_name(order):
    return order[0].lower(), order[1]


def sum_up(orders):
    sums = {}
    for name, price in sorted(orders, key=by_name):
        sums[name] = sums.get(name, 0) + price
    return sums


def write_page(sums, to):
    for name, price in sums.items():
        os.write(to, f"{name:20} {price:10.2f}\n".encode())


def serve(pipe, to):
    write_page(sum_up(parse(read_orders(pipe))), to)


def main():
    pipe = os.pipe()
    to = os.open(os.devnull, os.O_WRONLY)
    end = time.monotonic() + int(sys.argv[1]) / 1000
    times = 0
    while times < int(sys.argv[2]) or time.monotonic() < end:
        serve(pipe, to)
        times += 1


main()
