# SPDX-License-Identifier: GPL-2.0
# python3 work-numpy.py MILLISECONDS: busy in functions of NumPy and of the library of BLAS
import sys, time
import numpy

stop = time.monotonic() + int(sys.argv[1]) / 1000
numbers = numpy.random.default_rng(1).random((100, 100))
while time.monotonic() < stop:
    product = numbers @ numbers
    numpy.linalg.svd(product)
    numpy.fft.fft(numpy.sort(product, axis=None))
    numpy.array_str(numpy.sin(product))
