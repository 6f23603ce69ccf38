// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <linux/btf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pd_btf.h"

static const char *types, *types_end, *strings;

static int load_types(void)
{
	static char room[64 << 20];
	const struct btf_header *header = (void *)room;
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY);
	size_t size = 0;
	ssize_t got;

	if (types)
		return 0;
	if (fd < 0)
		return -1;
	while ((got = read(fd, room + size, sizeof(room) - size)) > 0)
		size += got;
	close(fd);
	if (size < sizeof(*header) || header->magic != BTF_MAGIC)
		return -1;
	types = room + header->hdr_len + header->type_off;
	types_end = types + header->type_len;
	strings = room + header->hdr_len + header->str_off;
	return 0;
}

/* The number of bytes that follow a struct btf_type, by its kind. */
static size_t trailing_bytes(const struct btf_type *type)
{
	unsigned int n = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT: return sizeof(__u32);
	case BTF_KIND_ARRAY: return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION: return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM: return n * sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO: return n * sizeof(struct btf_param);
	case BTF_KIND_VAR: return sizeof(struct btf_var);
	case BTF_KIND_DATASEC: return n * sizeof(struct btf_var_secinfo);
	case BTF_KIND_DECL_TAG: return sizeof(struct btf_decl_tag);
	case BTF_KIND_ENUM64: return n * sizeof(struct btf_enum64);
	default: return 0;
	}
}

static const struct btf_type *find_type(unsigned int kind, const char *name, int *id)
{
	const char *at;

	if (load_types())
		return NULL;
	*id = 1;
	for (at = types; at < types_end; ++*id) {
		const struct btf_type *type = (void *)at;

		if (BTF_INFO_KIND(type->info) == kind && !strcmp(strings + type->name_off, name))
			return type;
		at += sizeof(*type) + trailing_bytes(type);
	}
	return NULL;
}

int pd_btf_find(unsigned int kind, const char *name)
{
	int id;

	return find_type(kind, name, &id) ? id : -1;
}

int pd_btf_offset(const char *name, const char *member)
{
	const struct btf_member *members;
	const struct btf_type *type;
	unsigned int i;
	int id;

	type = find_type(BTF_KIND_STRUCT, name, &id);
	if (!type)
		return -1;
	members = (void *)(type + 1);
	for (i = 0; i < BTF_INFO_VLEN(type->info); i++) {
		if (strcmp(strings + members[i].name_off, member))
			continue;
		return (BTF_INFO_KFLAG(type->info) ? BTF_MEMBER_BIT_OFFSET(members[i].offset) :
						     members[i].offset) / 8;
	}
	return -1;
}
