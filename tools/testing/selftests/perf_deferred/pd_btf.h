/* SPDX-License-Identifier: GPL-2.0 */
/* Queries of the kernel's type information, for BPF programs that call kernel functions. */
#ifndef PD_BTF_H
#define PD_BTF_H

/* The number of a type by its kind (BTF_KIND_*) and name, or -1. */
int pd_btf_find(unsigned int kind, const char *name);
/* The offset in bytes of a member of a struct, or -1. */
int pd_btf_offset(const char *name, const char *member);

#endif /* PD_BTF_H */
