#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write small perf.data files with deferred callchains.

Every user frame identifies its thread and entry context: bits 40..47 hold 0x55,
bits 20..39 the thread, bits 12..19 the cookie and bits 0..11 the depth.  So wrong
stitching shows in the output of perf script.  A case is a list of events; see CASES.
"""
import argparse
import ctypes
import os
import random
import struct
import sys

PERF_RECORD_MMAP = 1
PERF_RECORD_LOST = 2
PERF_RECORD_COMM = 3
PERF_RECORD_EXIT = 4
PERF_RECORD_FORK = 7
PERF_RECORD_SAMPLE = 9
PERF_RECORD_CALLCHAIN_DEFERRED = 22
PERF_RECORD_FINISHED_ROUND = 68

MISC_KERNEL, MISC_USER, MISC_GUEST_USER = 1, 2, 5

CONTEXT_KERNEL = 2**64 - 128
CONTEXT_USER = 2**64 - 512
CONTEXT_USER_DEFERRED = 2**64 - 640

IP, TID, TIME, CALLCHAIN, CPU, PERIOD = 1 << 0, 1 << 1, 1 << 2, 1 << 5, 1 << 7, 1 << 8
IDENTIFIER = 1 << 16
SAMPLE_TYPE = IP | TID | TIME | CALLCHAIN | CPU | PERIOD | IDENTIFIER
ADDR, WEIGHT, DATA_SRC = 1 << 3, 1 << 14, 1 << 15
RICH_TYPE = ((1 << 25) - 1) & ~WEIGHT
READ_FORMAT = 0x1f
REGS, NR_REGS = 0xff, 8
EVENT_LIMIT = 65528

FLAG_MMAP, FLAG_COMM, FLAG_FREQ, FLAG_TASK = 1 << 8, 1 << 9, 1 << 10, 1 << 13
FLAG_SAMPLE_ID_ALL = 1 << 18
FLAG_DEFER_CALLCHAIN, FLAG_DEFER_OUTPUT = 1 << 38, 1 << 39

ATTR_SIZE, FIRST_ATTR_SIZE = 136, 64
MSEC = 1000000
SAMPLING_ID, TRACKING_ID = 11, 22
TYPE_HARDWARE, TYPE_SOFTWARE = 0, 1
BRANCH_STACK = 1 << 11
MEM_LOAD_L3_HITM = 1 << 1 | (1 << 1 | 1 << 6) << 5 | 1 << 4 << 19
FEATURE_HOSTNAME, FEATURE_BRANCH_STACK, FEATURE_STAT = 3, 15, 19
FEATURE_NRCPUS, FEATURE_EVENT_DESC, FEATURE_NUMA_TOPOLOGY = 7, 12, 14
FEATURE_MEM_TOPOLOGY, FEATURE_DIR_FORMAT, MEM_BITS = 22, 24, 70
BRANCH_USER, BRANCH_ANY, BRANCH_CALL_STACK = 1 << 0, 1 << 3, 1 << 11


def user_ip(tid, cookie, depth):
    """The user frame of a thread and an entry context; depth 0 is the innermost."""
    return 0x55 << 40 | (tid & 0xfffff) << 20 | (cookie & 0xff) << 12 | depth


def user_frames(tid, cookie, depth):
    """The user frames of a deferred record."""
    return [user_ip(tid, cookie, i) for i in range(depth)]


def user_chain(tid, cookie, depth):
    """The user half of a sample."""
    return [CONTEXT_USER] + user_frames(tid, cookie, depth)


def kernel_chain(depth):
    """The kernel half of a sample."""
    if not depth:
        return []
    return [CONTEXT_KERNEL] + [0xffffffff81000000 + i for i in range(depth)]


class PerfData:
    """A perf.data file under construction."""

    def __init__(self, endian, max_stack=0):
        self.e = '<' if endian == 'little' else '>'
        self.big = endian == 'big'
        self.max_stack = max_stack
        self.sampling_type = TYPE_SOFTWARE
        self.lbr = False
        self.mem = False
        self.in_place = False
        self.no_flags = False
        self.odd_features = False
        self.folder = False
        self.attr_size = ATTR_SIZE
        self.more_events = []
        self.prefixed = False
        self.process = None
        self.cpu = 0
        self.sample_type = SAMPLE_TYPE
        self.events = []

    def pack(self, fmt, *args):
        return struct.pack(self.e + fmt, *args)

    def u64s(self, values):
        return self.pack(f'{len(values)}Q', *values)

    def header(self, kind, misc, body):
        return self.pack('IHH', kind, misc, 8 + len(body)) + body

    def pid(self, tid):
        """The pid of a thread: the one process, if set, else each thread is its own process."""
        return tid if self.process is None else self.process

    def trailer(self, tid, time, event_id):
        return self.pack('iiQIIQ', self.pid(tid), tid, time * MSEC, self.cpu, 0, event_id)

    def add(self, kind, misc, body):
        self.events.append(self.header(kind, misc, body))

    def comm(self, tid, time, name):
        text = name.encode(errors='surrogateescape') + b'\0'
        text += b'\0' * (-len(text) % 8)
        self.add(PERF_RECORD_COMM, 0, self.pack('ii', self.pid(tid), tid) + text +
                 self.trailer(tid, time, TRACKING_ID))

    def task(self, kind, tid, time):
        self.add(kind, 0, self.pack('iiiiQ', tid, 1, tid, 1, time * MSEC) +
                 self.trailer(tid, time, TRACKING_ID))

    def mmap(self, tid, time, start, size, name):
        text = name.encode() + b'\0'
        text += b'\0' * (-len(text) % 8)
        self.add(PERF_RECORD_MMAP, MISC_USER, self.pack('iiQQQ', self.pid(tid), tid, start, size, 0) + text +
                 self.trailer(tid, time, TRACKING_ID))

    def exit(self, tid, time):
        self.task(PERF_RECORD_EXIT, tid, time)

    def fork(self, tid, time):
        self.task(PERF_RECORD_FORK, tid, time)

    def sample(self, tid, time, chain, misc=MISC_KERNEL, ip=0xffffffff81000000,
               event_id=SAMPLING_ID, period=1):
        self.add(PERF_RECORD_SAMPLE, misc,
                 self.pack('QQii', event_id, ip, self.pid(tid), tid) +
                 self.u64s([time * MSEC] if self.sample_type & TIME else []) +
                 self.u64s([user_ip(tid, 0, 8)] if self.mem else []) +
                 self.pack('IIQ', self.cpu, 0, period) + self.u64s([len(chain)] + chain) +
                 self.u64s([10, MEM_LOAD_L3_HITM] if self.mem else []))

    def deferred(self, tid, time, cookie, kernel=2, misc=MISC_KERNEL):
        self.sample(tid, time, kernel_chain(kernel) + [CONTEXT_USER_DEFERRED, cookie], misc,
                    0xffffffff81000000 if kernel else user_ip(tid, cookie, 0))

    def rich(self, tid, time, cookie, depth=3, stack=64):
        """A sample with all fields that a sample can have, deferred or in place."""
        self.sample_type = RICH_TYPE
        head, tail = self.rich_head(tid, time), self.rich_tail(time, stack)
        chain = kernel_chain(2)
        if not self.in_place:
            chain += [CONTEXT_USER_DEFERRED, cookie]
        else:
            chain += user_chain(tid, cookie, depth)
            room = (EVENT_LIMIT - 8 - len(head) - len(tail)) // 8 - 1
            chain = chain[:room]
        self.add(PERF_RECORD_SAMPLE, MISC_KERNEL,
                 head + self.u64s([len(chain)] + chain) + tail)

    def rich_head(self, tid, time):
        """The fields from the identifier to the period, and a group read."""
        return (self.pack('QQiiQQQQII', SAMPLING_ID, 0xffffffff81000000, tid, tid, time * MSEC,
                          0xadd0 + time, SAMPLING_ID, 0x57ea, 0, 0) +
                self.u64s([1]) +
                self.u64s([2, 5000, 4000, 100 + time, SAMPLING_ID, 1, 200 + time, TRACKING_ID, 2]))

    def rich_tail(self, time, stack):
        """The fields from the raw data on."""
        regs = [2] + [0x4e60 + time + i for i in range(NR_REGS)]
        dump = bytes((time + i) % 251 for i in range(stack))
        return (self.pack('I20s', 20, b'raw data, odd bytes\xff') +
                self.u64s([2, 0xf1, 0x71, 1, 0xf2, 0x72, 2]) +
                self.u64s(regs) +
                self.u64s([stack]) + dump + self.u64s([stack - 8] if stack else []) +
                self.pack('IHH', 7, 8, 9) +
                self.u64s([0xda7a, 0x7a] + regs + [0x9a, 0xc6, 4096, 65536]) +
                self.u64s([16]) + b'a trace of 16 by')

    def record(self, tid, time, cookie, depth=3, chain=None, nr=None, misc=MISC_USER, extra=b''):
        if self.in_place:
            return
        if chain is None:
            chain = [CONTEXT_USER] if self.prefixed else []
            chain += user_frames(tid, cookie, depth)
        if nr is None:
            nr = len(chain)
        self.add(PERF_RECORD_CALLCHAIN_DEFERRED, misc,
                 self.u64s([cookie, nr] + chain) + extra +
                 self.trailer(tid, time, TRACKING_ID))

    def finished_round(self):
        self.add(PERF_RECORD_FINISHED_ROUND, 0, b'')

    def flags(self, value):
        raw = struct.pack('<Q', value)
        if self.big:
            raw = bytes(int(f'{byte:08b}'[::-1], 2) for byte in raw)
        return raw

    def attr(self, kind, config, flags, ids_offset, sample_type):
        sample_type |= ADDR | WEIGHT | DATA_SRC if self.mem else 0
        rich = self.sample_type == RICH_TYPE
        if self.in_place or self.no_flags:
            flags &= ~(FLAG_DEFER_CALLCHAIN | FLAG_DEFER_OUTPUT)
        # In an attr of the first version the size may be 0.
        size = 0 if self.attr_size == FIRST_ATTR_SIZE else self.attr_size
        raw = self.pack('IIQQQQ', kind, size, config, 4000, sample_type,
                        READ_FORMAT if rich else 0)
        raw += self.flags(flags | FLAG_FREQ | FLAG_SAMPLE_ID_ALL)
        branches = BRANCH_USER | (BRANCH_ANY if rich else BRANCH_CALL_STACK)
        raw += b'\0' * (72 - len(raw)) + self.pack('Q', branches if sample_type & BRANCH_STACK
                                                   else 0)
        if sample_type == RICH_TYPE:
            raw += self.pack('QIIQ', REGS, 4096, 0, REGS)
        raw += b'\0' * (108 - len(raw)) + self.pack('H', self.max_stack)
        raw += b'\0' * (ATTR_SIZE - len(raw))
        return raw[:self.attr_size] + self.pack('QQ', ids_offset, 8)

    def all_attrs(self, ids):
        """Every attr and the offset of its id; the ids follow each other."""
        out = self.attr(self.sampling_type, 0, FLAG_DEFER_CALLCHAIN, ids, self.sample_type)
        out += self.attr(TYPE_SOFTWARE, 9, FLAG_MMAP | FLAG_COMM | FLAG_TASK | FLAG_DEFER_OUTPUT,
                         ids + 8, SAMPLE_TYPE | (BRANCH_STACK if self.lbr else 0))
        for i, (kind, config, _, _) in enumerate(self.more_events):
            out += self.attr(kind, config, 0, ids + 16 + 8 * i, self.sample_type)
        return out

    def all_ids(self):
        return [SAMPLING_ID, TRACKING_ID] + [event[3] for event in self.more_events]

    def event_desc(self):
        """The names of the events."""
        names = ['cycles' if self.sampling_type == TYPE_HARDWARE else 'cpu-clock', 'dummy:u']
        names += [event[2] for event in self.more_events]
        attrs, entry = self.all_attrs(0), self.attr_size + 16
        out = self.pack('II', len(names), self.attr_size)
        for i, (name, event_id) in enumerate(zip(names, self.all_ids())):
            out += attrs[i * entry:i * entry + self.attr_size]
            out += self.pack('II', 1, 64) + name.encode().ljust(64, b'\0')
            out += self.u64s([event_id])
        return out

    def features(self):
        """Features: one CPU on one node, or a folder; in the order of their bits."""
        if self.folder:
            return {FEATURE_DIR_FORMAT: self.u64s([1])}
        if self.odd_features:
            return {FEATURE_HOSTNAME: self.pack('I', 69996).ljust(70000, b'\0'),
                    FEATURE_BRANCH_STACK: b'', FEATURE_STAT: b''}
        cpus = b'0' + b'\0' * 7
        return {FEATURE_NRCPUS: self.pack('II', 1, 1),
                FEATURE_EVENT_DESC: self.event_desc(),
                FEATURE_NUMA_TOPOLOGY: self.pack('IIQQI', 1, 0, 1 << 20, 1 << 20, len(cpus)) + cpus,
                FEATURE_MEM_TOPOLOGY: self.u64s([1, 1 << 27, 1, 0, MEM_BITS, MEM_BITS, 1, 2])}

    def feature_sections(self, offset):
        """The table of sections and their contents, for the end of the file."""
        bodies = self.features().values()
        offset += 16 * len(bodies)
        table = b''
        for body in bodies:
            table += self.pack('QQ', offset, len(body))
            offset += len(body)
        return table + b''.join(bodies)

    def feature_bits(self):
        bits = sum(1 << bit for bit in self.features()) if self.has_features() else 0
        return self.u64s([bits, 0, 0, 0])

    def has_features(self):
        return self.mem or self.more_events or self.folder or self.odd_features

    def to_bytes(self):
        header_size, entry = 104, self.attr_size + 16
        ids = header_size
        attrs = ids + 8 * len(self.all_ids())
        data = attrs + len(self.all_ids()) * entry
        body = b''.join(self.events)
        out = self.pack('Q', 0x32454c4946524550)
        out += self.pack('QQ', header_size, entry)
        out += self.pack('QQ', attrs, data - attrs)
        out += self.pack('QQ', data, len(body))
        out += self.pack('QQ', 0, 0) + self.feature_bits()
        out += self.u64s(self.all_ids()) + self.all_attrs(ids)
        return out + body + (self.feature_sections(len(out + body)) if self.has_features()
                             else b'')


    def write_folder(self, path, nr):
        """Write nr files with events, as perf record --threads does.

        COMM and MMAP events are in the file with the header.  Of several files, one has the samples and
        another one the records.
        """
        files = {i: [] for i in range(nr)} | {'header': []}
        for event in self.events:
            kind = struct.unpack_from(self.e + 'I', event)[0]
            files['header' if kind in (PERF_RECORD_COMM, PERF_RECORD_MMAP)
                  else kind % nr].append(event)
        self.events = files.pop('header')
        os.mkdir(path)
        with open(f'{path}/data', 'wb') as out:
            out.write(self.to_bytes())
        for i, events_of_file in files.items():
            with open(f'{path}/data.{i}', 'wb') as out:
                out.write(b''.join(events_of_file))


def case_in_place(d):
    """Callchains in place only."""
    d.comm(100, 1, 'alpha')
    d.sample(100, 10, kernel_chain(2) + user_chain(100, 1, 3))
    d.sample(100, 12, kernel_chain(2) + user_chain(100, 2, 3))


def case_basic(d):
    """Two threads, one record for two samples, one sample in user space."""
    d.comm(100, 1, 'alpha')
    d.comm(200, 1, 'beta')
    d.deferred(100, 10, 1)
    d.deferred(200, 11, 2)
    d.deferred(100, 12, 1)
    d.deferred(100, 13, 3, kernel=0, misc=MISC_USER)
    d.record(200, 20, 2, depth=4)
    d.record(100, 21, 1)
    d.record(100, 22, 3, depth=2)
    d.exit(100, 30)
    d.exit(200, 31)


def case_late(d):
    """A record that comes some flush rounds after its first sample and before its second."""
    d.comm(100, 1, 'alpha')
    d.deferred(100, 10, 1)
    d.sample(100, 11, kernel_chain(1) + user_chain(100, 99, 2))
    d.finished_round()
    d.sample(100, 20, kernel_chain(1))
    d.finished_round()
    d.sample(100, 30, kernel_chain(1))
    d.finished_round()
    d.record(100, 40, 1)
    d.deferred(100, 41, 1)
    d.finished_round()


def case_many_names(d):
    """More names without a time than perf reads at once from a file of a folder."""
    for tid in range(1000, 41000):
        d.comm(tid, 0, 'other')
    d.comm(100, 0, 'alpha')
    for time in range(10, 40, 2):
        d.deferred(100, time, time)
        d.record(100, time + 1, time)


def case_sleeper(d):
    """A thread that sleeps for a minute and a half while another one runs."""
    d.comm(100, 1, 'alpha')
    d.comm(200, 1, 'beta')
    d.deferred(100, 10, 1)
    for time in range(1000, 100000, 1000):
        d.deferred(200, time, time // 1000)
        d.record(200, time + 1, time // 1000)
        d.finished_round()
    d.record(100, 100000, 1)
    d.deferred(200, 100001, 100)
    d.record(200, 100002, 100)


def case_timeless(d):
    """Samples without a time, while their thread maps another file and changes its name."""
    d.sample_type &= ~TIME
    time = 10
    for name in ('first', 'second'):
        d.comm(100, time, name)
        d.mmap(100, time + 1, user_ip(100, 0, 0), 0x100000, f'/{name}.so')
        for _ in range(6):
            time += 10
            d.deferred(100, time, time)
            d.record(100, time + 1, time)
            d.finished_round()


def case_mapped(d):
    """Two DSOs that only deferred user halves hit, one hit in place, and one without hits."""
    for tid, name in (100, 'deferred'), (200, 'late'), (300, 'in_place'), (400, 'unused'):
        d.comm(tid, 1, name)
        d.mmap(tid, 2, user_ip(tid, 0, 0), 0x100000, f'/{name}.so')
    d.deferred(200, 9, 2)
    d.deferred(100, 10, 1)
    d.record(100, 11, 1)
    for time in range(12, 16):
        d.sample(300, time, kernel_chain(1) + user_chain(300, 3, 2))
        d.finished_round()
    d.record(200, 20, 2)
    d.sample(400, 21, kernel_chain(1))


def case_incomplete(d):
    """No record: at exit, at the end of data, and with a cookie of zero; an empty record."""
    d.comm(100, 1, 'alpha')
    d.comm(200, 1, 'beta')
    d.deferred(100, 10, 1)
    d.exit(100, 11)
    d.deferred(200, 12, 2)
    d.deferred(200, 13, 0)
    d.deferred(200, 14, 3, kernel=0, misc=MISC_USER)
    d.record(200, 15, 4)
    d.deferred(200, 16, 5, kernel=0, misc=MISC_USER)
    d.record(200, 17, 5, chain=[])


def case_no_record(d):
    """No record before the thread's next entry context."""
    d.deferred(100, 10, 1)
    d.deferred(100, 12, 2)
    d.record(100, 13, 2)


def case_no_record_at_end(d):
    """No record before the end of the data."""
    d.deferred(100, 10, 1)


def case_no_record_at_exit(d):
    """No record before the thread exits."""
    d.deferred(100, 10, 1)
    d.exit(100, 11)


def case_no_cookie(d):
    """A sample with a cookie of zero."""
    d.deferred(100, 10, 0)


def case_few(d):
    """One sample of a hundred has no record before the end of the data; one record is repeated."""
    d.comm(100, 1, 'alpha')
    for i in range(1, 101):
        d.deferred(100, 10 * i, i)
        if i < 100:
            d.record(100, 10 * i + 1, i)
        if i == 50:
            d.record(100, 10 * i + 2, i)


def case_foreign(d):
    """Records that belong to no sample: of another thread, machine or cookie."""
    d.comm(100, 1, 'alpha')
    d.deferred(100, 10, 1)
    d.record(200, 11, 1)
    d.record(100, 12, 1, misc=MISC_GUEST_USER)
    d.record(100, 13, 2)
    d.record(4000000, 14, 1)


def case_malformed(d):
    """Records and samples with invalid sizes or contents, and a good record of another thread."""
    d.comm(100, 1, 'alpha')
    d.deferred(100, 10, 1)
    good = user_chain(100, 1, 3)
    d.record(100, 11, 1, chain=good, nr=5)
    d.record(100, 12, 1, chain=good, nr=2**61)
    d.record(100, 13, 1, chain=good, nr=2**64 - 1)
    d.record(100, 14, 1, chain=good, nr=1)
    d.record(100, 15, 1, chain=[CONTEXT_KERNEL] + good[1:])
    d.record(100, 16, 1, chain=good + [CONTEXT_USER_DEFERRED, 1])
    d.record(100, 17, 0, chain=good)
    d.record(100, 17, 1, chain=good[1:], nr=4)
    d.record(100, 17, 1, chain=good[1:] + [CONTEXT_USER])
    d.add(PERF_RECORD_CALLCHAIN_DEFERRED, MISC_USER, d.trailer(100, 18, TRACKING_ID))
    d.sample(100, 20, kernel_chain(1) + [CONTEXT_USER_DEFERRED])
    d.sample(100, 21, [CONTEXT_USER_DEFERRED])
    d.sample(100, 22, kernel_chain(1) + [CONTEXT_USER_DEFERRED, 1] + good)
    d.record(200, 23, 1)


def case_stray_marker(d):
    """A user half in place with the value of a marker among its return addresses."""
    d.comm(100, 1, 'alpha')
    d.sample(100, 10, user_chain(100, 1, 3) + [CONTEXT_USER_DEFERRED, 1, 1], MISC_USER)
    d.record(100, 11, 1)


def case_duplicate(d):
    """Two buffers with the same records, and an empty record."""
    d.comm(100, 1, 'alpha')
    d.deferred(100, 10, 1)
    d.record(100, 11, 1)
    d.record(100, 11, 1)
    d.deferred(100, 12, 1)
    d.record(100, 13, 1)
    d.deferred(100, 14, 2)
    d.record(100, 15, 2, chain=[])


def case_deep(d):
    """More user frames than the limit of the event."""
    d.comm(100, 1, 'alpha')
    d.deferred(100, 10, 1, kernel=3)
    d.deferred(100, 11, 1, kernel=20)
    d.record(100, 20, 1, depth=127)


def case_deepest(d):
    """More frames than the default limit: 510 user frames and two kernel frames."""
    d.comm(100, 1, 'alpha')
    d.deferred(100, 10, 1)
    d.record(100, 20, 1, depth=510)


def case_reuse(d):
    """A tid and a cookie are reused."""
    d.comm(100, 1, 'first')
    d.deferred(100, 10, 1)
    d.record(100, 11, 1, depth=2)
    d.deferred(100, 12, 2)
    d.exit(100, 13)
    d.fork(100, 20)
    d.comm(100, 21, 'second')
    d.deferred(100, 22, 2)
    d.record(100, 23, 2, depth=3)
    d.deferred(100, 24, 1)
    d.record(100, 25, 1, chain=[user_ip(100, 77, 0)])


def case_expire(d):
    """A record 1.9 seconds and many flush rounds after its sample, and one 2.5 seconds after."""
    d.comm(100, 1, 'alpha')
    d.comm(200, 1, 'beta')
    for cookie, start, wait in ((1, 0, 1900), (2, 10000, 2500)):
        d.deferred(100, start + 10, cookie)
        for time in range(start + 100, start + wait + 1, 100):
            d.sample(200, time, kernel_chain(1))
            d.finished_round()
        d.record(100, start + wait + 10, cookie)


def case_again(d):
    """Two entry contexts of a thread, a minute apart, have the same cookie."""
    d.comm(100, 1, 'alpha')
    d.comm(200, 1, 'beta')
    for minute, ip in ((0, 0xaaaa000), (60000, 0xbbbb000)):
        d.deferred(100, minute + 1000, 7)
        for time in (1500, 2000, 2500):
            d.sample(200, minute + time, kernel_chain(1))
            d.finished_round()
        d.record(100, minute + 2900, 7, chain=[ip])


def case_lost(d):
    """A LOST event before the thread's next entry context."""
    d.comm(100, 1, 'alpha')
    d.deferred(100, 10, 1)
    d.add(PERF_RECORD_LOST, 0, d.u64s([TRACKING_ID, 1]) + d.trailer(0, 11, TRACKING_ID))
    d.deferred(100, 12, 2)
    d.record(100, 13, 2)
    d.record(100, 14, 3)


def case_state(d):
    """A thread whose name and map change while its sample waits."""
    d.comm(100, 1, 'before')
    d.mmap(100, 2, user_ip(100, 1, 0), 4096, '/lib/old')
    d.deferred(100, 10, 1)
    for time in (20, 30, 40):
        d.sample(200, time, kernel_chain(1))
        d.finished_round()
    d.comm(100, 41, 'after')
    d.mmap(100, 42, user_ip(100, 1, 0), 4096, '/lib/new')
    for time in (50, 60, 70):
        d.sample(200, time, kernel_chain(1))
        d.finished_round()
    d.record(100, 80, 1, depth=1)
    d.sample(100, 81, kernel_chain(1) + user_chain(100, 1, 1))


def case_events(d):
    """Samples of several events; the first event in the file is the second of the command line."""
    d.sampling_type = TYPE_HARDWARE
    d.more_events = [(TYPE_SOFTWARE, 0, 'cpu-clock', 33), (TYPE_SOFTWARE, 10, 'offcpu-time', 44)]
    d.comm(100, 1, 'alpha')
    for time in (10, 11, 12):
        d.sample(100, time, kernel_chain(2) + user_chain(100, 1, 3), event_id=33, period=MSEC)
    d.deferred(100, 13, 1)
    d.deferred(100, 14, 1)
    d.record(100, 15, 1)
    d.sample(100, 20, kernel_chain(2) + user_chain(100, 1, 3), event_id=44, period=7 * MSEC)


def case_hostile(d):
    """A command whose name contains the end of a script element and a placeholder."""
    d.comm(100, 1, '</script><b>/** @flamegraph_json **/')
    d.sample(100, 10, kernel_chain(2) + user_chain(100, 1, 3))


def case_bytes(d):
    """A command whose name has a character of UTF-8, and a byte that is not UTF-8."""
    d.comm(100, 1, 'caf\u00e9\udce9')
    d.sample(100, 10, kernel_chain(2) + user_chain(100, 1, 3))


def case_stripped(d):
    """The main program is /bin/true or another file, and some frames are in its .text."""
    path = os.path.realpath(d.program)
    d.comm(100, 1, 'true')
    d.mmap(100, 2, user_ip(100, 0, 0), os.path.getsize(path), path)
    d.sample(100, 10, kernel_chain(1) + [CONTEXT_USER] +
             [user_ip(100, 0, 0) + 0x2800 + i * 0x40 for i in range(16)])


def case_named(d):
    """A frame is in exit() of the C library."""
    address = ctypes.cast(ctypes.CDLL(None).exit, ctypes.c_void_p).value + 4
    for line in open('/proc/self/maps'):
        ends, _, offset, _, _, *path = line.split()
        start, end = (int(number, 16) for number in ends.split('-'))
        if start <= address < end:
            break
    d.comm(100, 1, 'alpha')
    d.mmap(100, 2, user_ip(100, 0, 0), os.path.getsize(path[0]), path[0])
    d.sample(100, 10, kernel_chain(1) + user_chain(100, 1, 2) +
             [user_ip(100, 0, 0) + address - start + int(offset, 16)])


def case_many(d):
    """A hundred threads whose samples all wait at the same time."""
    for tid in range(1000, 1100):
        d.deferred(tid, tid, 1)
    for time in (2000, 2010, 2020):
        d.sample(200, time, kernel_chain(1))
        d.finished_round()
    for tid in range(1000, 1100):
        d.record(tid, 2000 + tid, 1)


def case_rich(d):
    """Samples with all fields that a sample can have."""
    d.comm(100, 1, 'alpha')
    for i in range(20):
        d.rich(100, 10 + i, 1 + i // 2, depth=3 + i // 2, stack=8 * i)
        if i % 2:
            d.record(100, 10 + i, 1 + i // 2, depth=3 + i // 2)


def case_huge(d):
    """Samples with room for only a part of their user half, down to one frame."""
    d.comm(100, 1, 'alpha')
    for i in range(20):
        d.rich(100, 10 + i, 1 + i, depth=100, stack=65008 - 88 * i)
        d.record(100, 40 + i, 1 + i, depth=100)


def case_mainline(d):
    """A process of eight threads on four CPUs, as released mainline kernels record it.

    There is a record for each stay of a thread in the kernel, on the CPU where the thread
    leaves the kernel.  The last records are missing.  Each CPU has its own buffer.
    """
    rng = random.Random(7)
    buffers = [[] for _ in range(4)]
    counts = [0] * len(buffers)
    d.process, time, samples = 1000, 100, 0
    for tid in range(1000, 1008):
        d.comm(tid, 1, 'threads')
    while samples < 740:
        tid, cpu = rng.randrange(1000, 1008), rng.randrange(4)
        counts[cpu] += 1
        cookie = counts[cpu] << 32 | cpu << 1 | 1
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            time, samples = time + 1, samples + 1
            buffers[cpu].append((time, tid, cookie, rng.random() < 0.6, False))
        cpu = rng.randrange(4) if rng.random() < 0.1 else cpu
        time += 1
        if samples < 735:
            buffers[cpu].append((time, tid, cookie, False, True))
        if rng.random() < 0.05 or samples >= 740:
            for d.cpu, buffer in enumerate(buffers):
                for when, tid, cookie, user, is_record in buffer:
                    if is_record:
                        d.record(tid, when, cookie, depth=1 + tid % 8)
                    else:
                        d.deferred(tid, when, cookie, kernel=0 if user else 2,
                                   misc=MISC_USER if user else MISC_KERNEL)
                buffer.clear()
            d.finished_round()


def case_random(d):
    """Many threads with interleaved entry contexts, in two shuffled buffers."""
    rng = random.Random(1)
    cookie = 0
    events = []
    threads = {tid: None for tid in range(1000, 1032)}
    for time in range(100, 4100):
        tid = rng.choice(list(threads))
        if threads[tid] is None:
            cookie += 1
            threads[tid] = (tid << 8) | cookie % 256
        if rng.random() < 0.7:
            events.append((time, 'deferred', tid, threads[tid]))
        else:
            events.append((time, 'record', tid, threads[tid]))
            threads[tid] = None
    for tid in threads:
        d.comm(tid, 1, f't{tid}')
    for buffer in (0, 1):
        for time, what, tid, cookie in events:
            if tid % 2 == buffer:
                getattr(d, what)(tid, time, cookie)


CASES = {name[5:]: func for name, func in globals().items() if name.startswith('case_')}


def events(path):
    """The events of a file in this machine's byte order: type and bytes of each."""
    with open(path, 'rb') as file:
        raw = file.read()
    at, size = struct.unpack_from('QQ', raw, 40)
    end = at + size
    while at < end:
        kind, _, size = struct.unpack_from('IHH', raw, at)
        yield kind, raw[at:at + size]
        at += size


def print_samples(path):
    """The bytes of all samples, in the order of the file."""
    for kind, event in events(path):
        if kind == PERF_RECORD_SAMPLE:
            print(event.hex())


def print_times(path):
    """The times of samples, and the ends of flush rounds, in the order of the file."""
    for kind, event in events(path):
        if kind == PERF_RECORD_SAMPLE:
            print(struct.unpack_from('Q', event, 32)[0])
        elif kind == PERF_RECORD_FINISHED_ROUND:
            print('round')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--endian', choices=['little', 'big'], default=sys.byteorder)
    parser.add_argument('--max-stack', type=int, default=0)
    parser.add_argument('--hardware', action='store_true', help='sample a hardware event')
    parser.add_argument('--lbr', action='store_true', help='the other event has call stacks of LBR')
    parser.add_argument('--mem', action='store_true', help='sample memory accesses')
    parser.add_argument('--in-place', action='store_true', help='record callchains in place')
    parser.add_argument('--no-flags', action='store_true', help='attrs without flags of deferral')
    parser.add_argument('--odd-features', action='store_true',
                        help='the header has empty sections and one that no event can hold')
    parser.add_argument('--first-attrs', action='store_true',
                        help='attrs of the first version, with a size of zero')
    parser.add_argument('--folder', type=int, default=0,
                        help='write a folder with this number of files, as perf record --threads')
    parser.add_argument('--prefixed', action='store_true',
                        help='records begin with PERF_CONTEXT_USER, as those of early kernels')
    parser.add_argument('--program', default='/bin/true', help='the program of case stripped')
    parser.add_argument('--truncate', type=int, help='truncate the file to this number of bytes')
    parser.add_argument('-o', '--output', required=True)
    parser.add_argument('case', choices=sorted(CASES) + ['samples', 'times'],
                        help='or "samples": print the samples of OUTPUT in hex, one per line; '
                        'or "times": print the times of samples, and the ends of flush rounds')
    args = parser.parse_args()

    if args.case == 'samples':
        return print_samples(args.output)
    if args.case == 'times':
        return print_times(args.output)

    data = PerfData(args.endian, args.max_stack)
    data.sampling_type = TYPE_HARDWARE if args.hardware else TYPE_SOFTWARE
    data.lbr = args.lbr
    data.mem = args.mem
    data.in_place = args.in_place
    data.no_flags = args.no_flags
    data.odd_features = args.odd_features
    data.attr_size = FIRST_ATTR_SIZE if args.first_attrs else ATTR_SIZE
    data.prefixed = args.prefixed
    data.folder = bool(args.folder)
    data.program = args.program
    CASES[args.case](data)
    if args.folder:
        return data.write_folder(args.output, args.folder)
    with open(args.output, 'wb') as out:
        out.write(data.to_bytes()[:args.truncate])
    return None


if __name__ == '__main__':
    main()
