/* SPDX-License-Identifier: GPL-2.0 */
/* BPF programs and maps without a library. */
#ifndef PD_BPF_H
#define PD_BPF_H

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pd_test.h"

#define INSN(c, d, s, o, i)	\
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define MOV_REG(d, s)		INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_IMM(d, i)		INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADD_IMM(d, i)		INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define STORE_IMM(d, o, i)	INSN(BPF_ST | BPF_MEM | BPF_DW, d, 0, o, i)
#define STORE_REG(d, s, o)	INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define CALL(f)			INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define JUMP_IF_NOT_0(d, o)	INSN(BPF_JMP | BPF_JNE | BPF_K, d, 0, o, 0)
#define LOAD(size, d, s, o)	INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define JUMP_IF_NOT(d, i, o)	INSN(BPF_JMP | BPF_JNE | BPF_K, d, 0, o, i)
#define CALL_KERNEL(id)		INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, id)
#define EXIT()			INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* UPPER_HALF() must follow MAP_FD(): it holds the upper half of its 64-bit constant. */
#define MAP_FD(d, fd)		INSN(BPF_LD | BPF_DW | BPF_IMM, d, BPF_PSEUDO_MAP_FD, 0, fd)
#define UPPER_HALF()		INSN(0, 0, 0, 0, 0)

static inline long sys_bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static inline int make_map(int type, unsigned int value_size, unsigned int entries)
{
	union bpf_attr attr = {
		.map_type = type,
		.key_size = 4,
		.value_size = value_size,
		.max_entries = entries,
	};

	return sys_bpf(BPF_MAP_CREATE, &attr);
}

static inline int look_up(int map, __u32 key, void *value)
{
	union bpf_attr attr = {
		.map_fd = map,
		.key = (unsigned long)&key,
		.value = (unsigned long)value,
	};

	return sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr);
}

/* Load a program of the type in @attr; report the verifier's log if the program is refused. */
static inline int load_program(union bpf_attr *attr, const struct bpf_insn *code, size_t nr,
			       const char *what)
{
	static char log[65536];
	int fd;

	attr->insns = (unsigned long)code;
	attr->insn_cnt = nr;
	attr->license = (unsigned long)"GPL";
	attr->log_buf = (unsigned long)log;
	attr->log_size = sizeof(log);
	attr->log_level = 1;
	fd = sys_bpf(BPF_PROG_LOAD, attr);
	if (fd < 0)
		pd_note("%s: %s: %.600s", what, strerror(errno), log);
	return fd;
}

#endif /* PD_BPF_H */
