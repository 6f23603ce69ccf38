#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write a static program without symbols, whose functions are known by .eh_frame only.

It is only read, never executed. It has 8 functions of 128 bytes, from offset 0x2800 in the file
and address 0x402800 on.
"""
import argparse
import struct

BASE, TEXT, FRAME, SECTIONS = 0x400000, 0x2800, 0x3000, 0x3800
FUNCTIONS, SIZE = 8, 128
PROGBITS, STRTAB, ALLOC, EXEC = 1, 3, 2, 4
NAMES = b'\0.text\0.eh_frame\0.shstrtab\0'


def eh_frame(address):
    """A CIE and an FDE for each function, as .eh_frame with a terminator in the middle."""
    body = bytearray(struct.pack('=II4s4B8x', 20, 0, b'\x01zR\0', 1, 0x78, 16, 1))
    body[16] = 0x1b     # DW_EH_PE_pcrel | DW_EH_PE_sdata4
    for i in range(FUNCTIONS):
        if i == FUNCTIONS // 2:
            body += bytes(4)
        start = BASE + TEXT + i * SIZE - (address + len(body) + 8)
        body += struct.pack('=IIiI8x', 20, len(body) + 4, start, SIZE)
    return bytes(body) + bytes(4)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--shift', type=int, default=0,
                        help='place .eh_frame this number of bytes further')
    parser.add_argument('--no-fdes', action='store_true', help='fill .eh_frame with zeros')
    parser.add_argument('output')
    args = parser.parse_args()

    at_frame = FRAME + args.shift
    frame = eh_frame(BASE + at_frame)
    if args.no_fdes:
        frame = bytes(len(frame))

    image = bytearray(SECTIONS)
    image[:64] = struct.pack('=16sHHIQQQIHHHHHH',
                             b'\x7fELF\2' + (1 if struct.pack('=H', 1)[0] else 2).to_bytes(1, 'big')
                             + b'\1', 2, 62, 1, BASE + TEXT, 64, SECTIONS, 0, 64, 56, 1, 64, 4, 3)
    image[64:120] = struct.pack('=IIQQQQQQ', 1, 5, 0, BASE, BASE, SECTIONS, SECTIONS, 0x1000)
    image[at_frame:at_frame + len(frame)] = frame
    names = SECTIONS + 4 * 64
    for name, kind, flags, at, size in (
            (b'', 0, 0, 0, 0), (b'.text', PROGBITS, ALLOC | EXEC, TEXT, FUNCTIONS * SIZE),
            (b'.eh_frame', PROGBITS, ALLOC, at_frame, len(frame)),
            (b'.shstrtab', STRTAB, 0, names, len(NAMES))):
        image += struct.pack('=IIQQQQIIQQ', NAMES.index(name + b'\0') if name else 0, kind, flags,
                             BASE + at if flags else 0, at, size, 0, 0, 1, 0)
    with open(args.output, 'wb') as out:
        out.write(image + NAMES)


if __name__ == '__main__':
    main()
