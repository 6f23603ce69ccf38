/* SPDX-License-Identifier: GPL-2.0 */
/* There is only one task, so RCU has nothing to do. */
#ifndef _UNWIND_FINDER_LINUX_RCUPDATE_H
#define _UNWIND_FINDER_LINUX_RCUPDATE_H

struct rcu_head {
	void	*next;
};

#endif /* _UNWIND_FINDER_LINUX_RCUPDATE_H */
