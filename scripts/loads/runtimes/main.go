// SPDX-License-Identifier: GPL-2.0

// The main goroutine, busy in functions without a frame: something to sample.
//
//	main MILLISECONDS
//
// main() calls work(), which calls leaf() and move(). move() copies memory by a function of the
// runtime in assembly.
package main

import (
	"os"
	"strconv"
	"time"
)

var from, to [512]byte
var sum int

//go:noinline
func leaf(i int) {
	sum += int(from[i&511])
}

//go:noinline
func move() {
	copy(to[:], from[sum&7:])
}

//go:noinline
func work() {
	for i := 0; i < 1000000; i++ {
		leaf(i)
		move()
	}
}

func main() {
	span, _ := strconv.Atoi(os.Args[1])
	stop := time.Now().Add(time.Duration(span) * time.Millisecond)
	for time.Now().Before(stop) {
		work()
	}
}
