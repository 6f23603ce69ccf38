/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks that identify themselves. pd_call(n, depth, leaf, arg) calls the outermost
 * function of n, which calls the recursive function of n, which has depth + 1 frames
 * and calls leaf(arg). Each of these functions has a section of its own. So the frames
 * of a sample tell which stack they belong to, and whether it is complete.
 */
#ifndef PD_STACK_H
#define PD_STACK_H

#include <stdbool.h>

#include "pd_log.h"

#define PD_NAMES	8
#define PD_LEAF		PD_IN("pd_leaf")

typedef long (*pd_leaf_fn)(void *arg);

/* The section of all leaves. */
PD_BOUNDS(pd_leaf);

static inline bool pd_in_leaf(unsigned long ip)
{
	return ip >= (unsigned long)__start_pd_leaf && ip < (unsigned long)__stop_pd_leaf;
}

/* Two sections for each name. */
PD_BOUNDS(pd_rec_0);
PD_BOUNDS(pd_out_0);
PD_BOUNDS(pd_rec_1);
PD_BOUNDS(pd_out_1);
PD_BOUNDS(pd_rec_2);
PD_BOUNDS(pd_out_2);
PD_BOUNDS(pd_rec_3);
PD_BOUNDS(pd_out_3);
PD_BOUNDS(pd_rec_4);
PD_BOUNDS(pd_out_4);
PD_BOUNDS(pd_rec_5);
PD_BOUNDS(pd_out_5);
PD_BOUNDS(pd_rec_6);
PD_BOUNDS(pd_out_6);
PD_BOUNDS(pd_rec_7);
PD_BOUNDS(pd_out_7);

long pd_call(unsigned int name, unsigned int depth, pd_leaf_fn leaf, void *arg);

/*
 * An address in the recursive function of a name, where its frame is set up: the return address of
 * its call of itself.
 */
unsigned long pd_name_address(unsigned int name);
/* The name that a frame belongs to, or -1. */
int pd_frame_name(__u64 ip);
/* Number of frames of a name in a stack, including the outermost one. */
unsigned int pd_frames_of(const struct pd_rec *stack, unsigned int name);
bool pd_has_outermost(const struct pd_rec *stack, unsigned int name);
/* The first frame that belongs to another name, or 0. */
__u64 pd_foreign_frame(const struct pd_rec *stack, unsigned int name);

/*
 * Check that the stack is that of pd_call(name, depth, ...) in a system call of
 * the leaf: complete, without foreign or repeated frames.
 */
int pd_check_stack(const struct pd_rec *stack, unsigned int name, unsigned int depth);
/* Check that the sample's user half comes from a record and is the named stack. */
int pd_check_stitched(struct pd_log *log, const struct pd_rec *sample,
		      unsigned int name, unsigned int depth);

/*
 * Check that a sample has the named stack, stitched or in place. pd_check_right_or_none()
 * also allows a sample without a user half or with an empty record.
 */
int pd_check_right(struct pd_log *log, const struct pd_rec *sample,
		   unsigned int name, unsigned int depth);
int pd_check_right_or_none(struct pd_log *log, const struct pd_rec *sample,
			   unsigned int name, unsigned int depth);
/* Check that each deferred sample has a record, if it was taken before pd_disable(). */
int pd_check_no_bare(struct pd_log *log);

/*
 * A frame for chains of frames that no compiler would make.  pd_getppid_on() calls
 * getppid() with the given stack pointer and frame pointer, and pd_syscall_on() any system call,
 * with the stack pointer as its first argument.
 */
struct pd_frame {
	unsigned long next, ip;
};

long pd_syscall_on(const void *stack, const void *frame, long nr);
long pd_getppid_on(const void *stack, const void *frame);
/*
 * The return address of the system call's function.  Kernels that read code accept only this one in
 * the first frame of a chain.
 */
unsigned long pd_getppid_on_address(void);

/*
 * Leaf functions for pd_call(): make the system call of a struct pd_syscall, or getppid(), without
 * the C library; or spin, mostly in user mode, for the given number of milliseconds.
 */
struct pd_syscall {
	long nr, args[6];
};

long pd_leaf_syscall(void *call);
long pd_leaf_getppid(void *unused);
long pd_leaf_spin(void *milliseconds);
/* Like pd_leaf_spin(), but it calls pd_child_says() first. */
long pd_leaf_says_and_spins(void *milliseconds);

#endif /* PD_STACK_H */
