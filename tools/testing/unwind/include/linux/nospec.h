/* SPDX-License-Identifier: GPL-2.0 */
/* No protection against speculation is needed here. */
#ifndef _TESTING_UNWIND_LINUX_NOSPEC_H
#define _TESTING_UNWIND_LINUX_NOSPEC_H

#define array_index_nospec(index, size)	((size) ? (index) : 0)

#endif /* _TESTING_UNWIND_LINUX_NOSPEC_H */
