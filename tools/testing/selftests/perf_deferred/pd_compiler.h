/* SPDX-License-Identifier: GPL-2.0 */
/* Attributes and asm for the compiler. */
#ifndef PD_COMPILER_H
#define PD_COMPILER_H

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(arr)		(sizeof(arr) / sizeof((arr)[0]))
#endif

#define PD_ATTR(...)		__attribute__((__VA_ARGS__))

/* A function that is not inlined, in the section @name. */
#define PD_IN(name)		PD_ATTR(noinline, section(name))
/* Start and end of a section. */
#define PD_BOUNDS(name)		extern const char __start_##name[], __stop_##name[]

/*
 * Use the frame's address, so that the compiler sets up a frame.  In a function that calls nothing,
 * or that returns early, the compiler's options alone do not ensure a frame.
 */
static inline PD_ATTR(always_inline) void pd_frame(void)
{
	asm volatile("" : : "r" (__builtin_frame_address(0)));
}

/* Accesses to memory that other tasks or the kernel access, too. */
#define PD_READ(x)		__atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define PD_WRITE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELEASE)

#endif /* PD_COMPILER_H */
