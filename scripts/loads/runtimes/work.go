// SPDX-License-Identifier: GPL-2.0

// Goroutines that are busy at the bottom of a recursion of known depth: something to sample.
//
//	work DEPTH MILLISECONDS
//
// Each goroutine begins in worker(), calls one(), two() and three() in turn, DEPTH functions
// in all, then work(), which sorts, hashes and reads.
package main

import (
	"crypto/sha256"
	"os"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

type state struct {
	numbers []int
	bytes   []byte
	seed    uint32
	sum     [32]byte
}

var stop int32

//go:noinline
func one(s *state, depth int) int {
	if depth <= 1 {
		return work(s)
	}
	return two(s, depth-1) + 1
}

//go:noinline
func two(s *state, depth int) int {
	if depth <= 1 {
		return work(s)
	}
	return three(s, depth-1) + 2
}

//go:noinline
func three(s *state, depth int) int {
	if depth <= 1 {
		return work(s)
	}
	return one(s, depth-1) + 3
}

//go:noinline
func less(a, b int) bool {
	return a < b
}

//go:noinline
func work(s *state) int {
	for atomic.LoadInt32(&stop) == 0 {
		for i := range s.numbers {
			s.seed = s.seed*1103515245 + 12345
			s.numbers[i] = int(s.seed)
		}
		sort.Slice(s.numbers, func(i, j int) bool { return less(s.numbers[i], s.numbers[j]) })
		s.sum = sha256.Sum256(s.bytes)
		data, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			panic(err)
		}
		copy(s.bytes, data)
	}
	return int(s.sum[0])
}

//go:noinline
func worker(depth int, seed uint32, done *sync.WaitGroup) {
	s := &state{make([]int, 500), make([]byte, 20000), seed, [32]byte{}}
	s.sum[0] = byte(one(s, depth))
	done.Done()
}

func main() {
	var done sync.WaitGroup

	depth, _ := strconv.Atoi(os.Args[1])
	span, _ := strconv.Atoi(os.Args[2])
	for i := 0; i < 4; i++ {
		done.Add(1)
		go worker(depth, uint32(i+1), &done)
	}
	time.Sleep(time.Duration(span) * time.Millisecond)
	atomic.StoreInt32(&stop, 1)
	done.Wait()
}
