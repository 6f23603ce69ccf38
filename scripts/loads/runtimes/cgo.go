// SPDX-License-Identifier: GPL-2.0

// Like work.go, but work() is in C: it calls qsort() of the C library, with a comparison
// function that calls Go now and then.
//
//	cgo DEPTH MILLISECONDS
package main

/*
#include <stdlib.h>

#define NUMBERS	500

extern int compareInGo(int a, int b);

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	if (!(x & 7))
		return compareInGo(x, y);
	return x < y ? -1 : x > y;
}

static __attribute__((noinline)) int work_in_c(unsigned int seed)
{
	int numbers[NUMBERS];

	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = (seed = seed * 1103515245 + 12345) >> 8;
	qsort(numbers, NUMBERS, sizeof(numbers[0]), compare);
	return numbers[0];
}
*/
import "C"

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

var stop int32

//export compareInGo
func compareInGo(a, b C.int) C.int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

//go:noinline
func one(seed, depth int) int {
	if depth <= 1 {
		return work(seed)
	}
	return two(seed, depth-1) + 1
}

//go:noinline
func two(seed, depth int) int {
	if depth <= 1 {
		return work(seed)
	}
	return three(seed, depth-1) + 2
}

//go:noinline
func three(seed, depth int) int {
	if depth <= 1 {
		return work(seed)
	}
	return one(seed, depth-1) + 3
}

//go:noinline
func work(seed int) int {
	for atomic.LoadInt32(&stop) == 0 {
		seed += int(C.work_in_c(C.uint(seed)))
	}
	return seed
}

//go:noinline
func worker(depth, seed int, done *sync.WaitGroup) {
	one(seed, depth)
	done.Done()
}

func main() {
	var done sync.WaitGroup

	depth, _ := strconv.Atoi(os.Args[1])
	span, _ := strconv.Atoi(os.Args[2])
	for i := 0; i < 4; i++ {
		done.Add(1)
		go worker(depth, i+1, &done)
	}
	time.Sleep(time.Duration(span) * time.Millisecond)
	atomic.StoreInt32(&stop, 1)
	done.Wait()
}
