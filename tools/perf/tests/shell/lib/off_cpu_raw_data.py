#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write small perf.data files with off-CPU samples as perf of mainline Linux records them.

The event offcpu-time is BPF output.  The raw data of a sample describes the waiting thread.
The fields pid and tid of the sample are those of the task that ran before.
"""
import argparse
import struct
import sys

from deferred_callchain_data import (CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_USER_DEFERRED, CPU,
                                     FLAG_COMM, FLAG_MMAP, FLAG_TASK, IDENTIFIER, IP, MISC_KERNEL,
                                     MISC_USER, MSEC, PERF_RECORD_SAMPLE, PERIOD, SAMPLE_TYPE,
                                     SAMPLING_ID, TID, TIME, TRACKING_ID, TYPE_SOFTWARE, PerfData,
                                     user_chain)

RAW, CGROUP = 1 << 10, 1 << 21
BPF_OUTPUT, DUMMY = 10, 9
FEATURE_HOSTNAME, FEATURE_EVENT_DESC = 3, 12     # readers detect the byte order by HOSTNAME
SUMS_TIME = 0xffffffff00000000
PROCESS, UNKNOWN_PROCESS = 1000, 5000


class OffCpuData(PerfData):
    """A file with off-CPU samples in raw data; the other fields describe another task."""

    def __init__(self, args):
        super().__init__(args.endian)
        self.sample_type = IDENTIFIER | IP | TID | TIME | CPU | PERIOD | RAW
        self.sample_type |= CGROUP if args.cgroup else 0
        self.cgroup = args.cgroup
        self.exchanged = args.exchanged
        self.name = args.name
        self.mem = True     # write the features
        self.process = PROCESS

    def features(self):
        def text(value):
            raw = value.encode() + b'\0'
            raw += b'\0' * (-len(raw) % 64)
            return self.pack('I', len(raw)) + raw
        desc = self.pack('II', 2, 136)
        for attr, event_id, name in zip(self.attrs(), (SAMPLING_ID, TRACKING_ID),
                                        (self.name, 'dummy:HG')):
            desc += attr + self.pack('I', 1) + text(name) + self.u64s([event_id])
        return {FEATURE_HOSTNAME: text('host'), FEATURE_EVENT_DESC: desc}

    def attrs(self):
        self.mem = False    # samples have no fields of memory accesses
        attrs = [self.attr(TYPE_SOFTWARE, BPF_OUTPUT, 0, 0, self.sample_type)[:-16],
                 self.attr(TYPE_SOFTWARE, DUMMY, FLAG_MMAP | FLAG_COMM | FLAG_TASK, 0,
                           SAMPLE_TYPE)[:-16]]
        self.mem = True
        return attrs

    def to_bytes(self):
        ids, attrs = 104, 120
        data = attrs + 2 * (136 + 16)
        body = b''.join(self.events)
        out = self.pack('9Q', 0x32454c4946524550, 104, 136 + 16, attrs, 2 * (136 + 16), data,
                        len(body), 0, 0)
        out += self.feature_bits() + self.u64s([SAMPLING_ID, TRACKING_ID])
        for i, attr in enumerate(self.attrs()):
            out += attr + self.pack('QQ', ids + 8 * i, 8)
        return out + body + self.feature_sections(len(out) + len(body))

    def raw(self, time, payload, misc=MISC_KERNEL, size=None):
        """A sample with this payload, padded as the kernel does."""
        padding = -(len(payload) + 4) % 8
        if size is None:
            size = len(payload) + padding
        stamp = time if time >= SUMS_TIME else time * MSEC
        self.add(PERF_RECORD_SAMPLE, misc,
                 self.pack('QQiiQIIQ', SAMPLING_ID, 0xffffffff81000000, 77, 78, stamp, 0, 0, 1) +
                 self.pack('I', size) + payload + b'\0' * padding +
                 (self.u64s([9]) if self.cgroup else b''))

    def payload(self, pid, tid, period, chain, nr=None, cgroup=4711):
        task = tid << 32 | pid if self.exchanged else pid << 32 | tid
        return self.u64s([task, period, len(chain) if nr is None else nr] + chain + [cgroup])

    def wait(self, pid, tid, time, depth=3):
        self.raw(time, self.payload(pid, tid, 1000000 * time, user_chain(tid, 1, depth)))

    def sum(self, pid, tid, nth, depth=3):
        """A sum written by perf record at the end: the halves of the first word are exchanged."""
        self.exchanged = not self.exchanged
        self.raw(SUMS_TIME + nth, self.payload(pid, tid, 500 + nth, user_chain(tid, 2, depth)),
                 MISC_USER)
        self.exchanged = not self.exchanged


def case_threads(d):
    """A process of three threads, one of a single thread, and sums."""
    d.comm(1000, 1, 'leader')
    d.comm(1001, 2, 'first')
    d.comm(2000, 3, 'second')
    d.process = 3000
    d.comm(3000, 4, 'single')
    for time, tid in enumerate((1000, 1001, 2000, 1001), 10):
        d.wait(PROCESS, tid, time)
    d.wait(3000, 3000, 20, depth=0)
    d.sum(PROCESS, 2000, 0)
    d.sum(PROCESS, 1001, 1)
    d.sum(3000, 3000, 2)


def case_unknown(d):
    """Threads without a COMM event, after a thread with a COMM event, and sums."""
    d.comm(1001, 1, 'first')
    d.wait(PROCESS, 1001, 10)
    d.wait(UNKNOWN_PROCESS, 5001, 11)
    d.wait(UNKNOWN_PROCESS, 4999, 12)
    d.sum(PROCESS, 1001, 0)
    d.sum(UNKNOWN_PROCESS, 5001, 1)


def case_anonymous(d):
    """No thread is known: a reader must assume the order of pid and tid that perf writes."""
    d.wait(UNKNOWN_PROCESS, 5001, 11)
    d.wait(UNKNOWN_PROCESS, 4999, 12)
    d.sum(UNKNOWN_PROCESS, 5001, 1)


def case_malformed(d):
    """Payloads with invalid sizes or contents, around a good one."""
    d.comm(1001, 1, 'first')
    good = user_chain(1001, 1, 3)
    for nr in (5, 6, 7, 2**13, 2**32 + 4, 2**61, 2**61 + 4, 2**64 - 1):
        d.raw(10, d.payload(PROCESS, 1001, 1, good, nr=nr))
    for chain in (good[1:], [CONTEXT_KERNEL] + good[1:], good + [CONTEXT_USER], [0],
                  good + [CONTEXT_USER_DEFERRED, 1], [CONTEXT_USER_DEFERRED, 1]):
        d.raw(10, d.payload(PROCESS, 1001, 1, chain))
    for size in (0, 4, 8, 12, 20, 28, 31):
        d.raw(10, d.payload(PROCESS, 1001, 1, [])[:size], size=size)
    d.wait(PROCESS, 1001, 20)
    for size in (68, 60, 36):
        d.raw(30, d.payload(PROCESS, 1001, 1, good), size=size)


def case_too_large(d):
    """Raw data that ends after the event."""
    d.comm(1001, 1, 'first')
    d.raw(30, d.payload(PROCESS, 1001, 1, user_chain(1001, 1, 3)), size=4096)


CASES = {name[5:]: func for name, func in globals().items() if name.startswith('case_')}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--endian', choices=['little', 'big'], default=sys.byteorder)
    parser.add_argument('--cgroup', action='store_true', help='samples have a cgroup')
    parser.add_argument('--exchanged', action='store_true',
                        help='pid and tid are exchanged in raw data')
    parser.add_argument('--name', default='offcpu-time', help='name of the event')
    parser.add_argument('-o', '--output', required=True)
    parser.add_argument('case', choices=sorted(CASES))
    args = parser.parse_args()

    data = OffCpuData(args)
    CASES[args.case](data)
    with open(args.output, 'wb') as out:
        out.write(data.to_bytes())


if __name__ == '__main__':
    main()
