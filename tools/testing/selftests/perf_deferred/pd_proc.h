/* SPDX-License-Identifier: GPL-2.0 */
/* Children that wait to be told to begin. */
#ifndef PD_PROC_H
#define PD_PROC_H

#include <stdbool.h>
#include <sys/types.h>

struct pd_child {
	pid_t pid;
	int go;			/* closed: begin */
	int *said;		/* how often it has called pd_child_says() */
};

/* Forks a child that runs fn(arg) once pd_child_go() was called. */
int pd_child_start(struct pd_child *child, int (*fn)(void *arg), void *arg);
void pd_child_go(struct pd_child *child);
/* Waits at most so long; the wait status, or -1. */
int pd_child_wait(struct pd_child *child, int seconds);

/* A file beside this program. */
const char *pd_beside(const char *name);
/* A child says how far it is; its parent waits for the nth word; false after seconds. */
void pd_child_says(void);
bool pd_child_wait_said(struct pd_child *child, int n, int seconds);
/* The same, and until the child sleeps. */
bool pd_child_wait_sleep(struct pd_child *child, int n, int seconds);
/* Wait until a thread has set *tid and sleeps. */
bool pd_wait_asleep(const pid_t *tid, int seconds);
void pd_pin(pid_t tid, int cpu);
int pd_online_cpus(void);
long long pd_now_ns(void);
void pd_sleep_ms(unsigned int ms);
/* A swap device in memory, if there is none and the kernel offers one: is there swap now? */
bool pd_make_swap(void);

#endif /* PD_PROC_H */
