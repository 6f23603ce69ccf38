/* SPDX-License-Identifier: GPL-2.0 */
/* Children that wait before they start, and helpers for CPUs, time and swap. */
#ifndef PD_PROC_H
#define PD_PROC_H

#include <stdbool.h>
#include <sys/types.h>

struct pd_child {
	pid_t pid;
	int go;			/* closed to start the child */
	int *said;		/* number of its calls of pd_child_says() */
};

/* Fork a child that runs fn(arg) after pd_child_go() was called. */
int pd_child_start(struct pd_child *child, int (*fn)(void *arg), void *arg);
void pd_child_go(struct pd_child *child);
/*
 * When to give up a wait that takes at most @seconds on an idle machine. A busy machine is slower,
 * so this is ten times as long.
 */
long long pd_end_of_wait(int seconds);
/* Wait with a timeout; return the wait status, or -1. */
int pd_child_wait(struct pd_child *child, int seconds);

/* Path of a file in the folder of this program. */
const char *pd_beside(const char *name);
/* A child reports progress. Its parent waits for the nth report, or gets false after @seconds. */
void pd_child_says(void);
bool pd_child_wait_said(struct pd_child *child, int n, int seconds);
/* Wait for the nth report, and until the child sleeps. */
bool pd_child_wait_sleep(struct pd_child *child, int n, int seconds);
/* Wait until a thread has set *tid and sleeps. */
bool pd_wait_asleep(const pid_t *tid, int seconds);
void pd_pin(pid_t tid, int cpu);
int pd_online_cpus(void);
long long pd_now_ns(void);
void pd_sleep_ms(unsigned int ms);
/* Make a swap device in memory if there is none. Return true if there is swap now. */
bool pd_make_swap(void);

#endif /* PD_PROC_H */
