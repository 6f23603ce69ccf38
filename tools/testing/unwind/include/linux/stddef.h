/* SPDX-License-Identifier: GPL-2.0 */
/* The part of the kernel's stddef.h that the unwinder uses. */
#ifndef _TESTING_UNWIND_LINUX_STDDEF_H
#define _TESTING_UNWIND_LINUX_STDDEF_H

#include <stddef.h>

#define struct_group_tagged(TAG, NAME, MEMBERS...) \
	union { struct { MEMBERS }; struct TAG { MEMBERS } NAME; }

#endif /* _TESTING_UNWIND_LINUX_STDDEF_H */
