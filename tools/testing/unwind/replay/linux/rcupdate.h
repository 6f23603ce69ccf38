/* SPDX-License-Identifier: GPL-2.0 */
/* There is only one task, so there are no other readers. */
#ifndef _UNWIND_REPLAY_LINUX_RCUPDATE_H
#define _UNWIND_REPLAY_LINUX_RCUPDATE_H

struct rcu_head {
	void	*next;
};

#define rcu_read_lock()		((void)0)
#define rcu_read_unlock()	((void)0)

#endif /* _UNWIND_REPLAY_LINUX_RCUPDATE_H */
