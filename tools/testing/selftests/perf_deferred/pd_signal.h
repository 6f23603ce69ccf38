/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Signal handlers with the tests' own restorers.  The first instruction of pd_restorer() clears
 * the frame pointer, so a sample at a later instruction has a stack of one frame.
 */
#ifndef PD_SIGNAL_H
#define PD_SIGNAL_H

#include <stdbool.h>

void pd_restorer(void);
void pd_known_restorer(void);
extern const char pd_restorer_end[];

void pd_handle(int sig, void (*handler)(int sig), bool on_altstack);
/* Like pd_handle(), but with pd_known_restorer(), across which the stack continues. */
void pd_handle_known(int sig, void (*handler)(int sig), bool on_altstack);
/* Set up an alternate signal stack for the calling thread. */
void pd_altstack(void);
bool pd_in_restorer(unsigned long long ip);

#endif /* PD_SIGNAL_H */
