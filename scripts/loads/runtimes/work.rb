# SPDX-License-Identifier: GPL-2.0
# ruby work.rb MILLISECONDS: busy at the bottom of a recursion
require 'digest'

def walk(n, seed)
  n > 0 ? [n - 1].map { |m| walk(m, seed) + 1 }[0] : work(seed)
end

def work(seed)
  numbers = (1..300).map { seed = (seed * 1103515245 + 12345) & 0xffffffff }
  text = numbers.sort { |a, b| a <=> b }.join(',')
  Digest::SHA256.hexdigest(text.gsub(/[0-4]+5/, 'x'))
  numbers[0]
end

stop = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ARGV[0].to_i / 1000.0
seed = 1
seed = walk(10, seed) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < stop
