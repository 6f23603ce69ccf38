/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests need of the compiler. */
#ifndef PD_COMPILER_H
#define PD_COMPILER_H

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(arr)		(sizeof(arr) / sizeof((arr)[0]))
#endif

#define PD_ATTR(...)		__attribute__((__VA_ARGS__))

/* A function of its own, in a section of its own. */
#define PD_IN(name)		PD_ATTR(noinline, section(name))
/* Where a section begins and ends. */
#define PD_BOUNDS(name)		extern const char __start_##name[], __stop_##name[]

/*
 * Have the compiler set up a frame, as the function asks for its address.  The
 * options of the compiler alone do not do that for a function that calls nothing.
 */
static inline PD_ATTR(always_inline) void pd_frame(void)
{
	asm volatile("" : : "r" (__builtin_frame_address(0)));
}

/* What other tasks and the kernel look at. */
#define PD_READ(x)		__atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define PD_WRITE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELEASE)

#endif /* PD_COMPILER_H */
