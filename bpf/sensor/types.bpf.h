/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The kernel's structures that the sensor looks into, as far as it does; offsets come from its BTF. */
#ifndef PROBETAX_SENSOR_TYPES_H
#define PROBETAX_SENSOR_TYPES_H

#include "kernel.h"

#define AF_UNIX	       1
#define AF_INET	       2
#define AF_INET6       10
#define IPPROTO_TCP    6
#define TCP_CLOSE      7
#define TCP_CLOSE_WAIT 8
#define TCP_LAST_ACK   9
#define TCP_CLOSING    11

#define AT_FDCWD      -100
#define AT_REMOVEDIR  0x200
#define AT_EMPTY_PATH 0x1000
#define MSG_PEEK      2
#define MSG_ERRQUEUE  0x2000

#define PTRACE_TRACEME	   0
#define PTRACE_ATTACH	   16
#define PTRACE_SEIZE	   0x4206
#define PTRACE_MODE_ATTACH 2

/* BPF_KPROBE() asks for the registers under the names that user space knows. */
#ifdef __TARGET_ARCH_arm64
struct user_pt_regs {
	__u64 regs[31], sp, pc, pstate;
};
#else
struct pt_regs {
	unsigned long r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	unsigned long orig_rax, rip, cs, eflags, rsp, ss;
};
#endif

enum kernel_read_file_id {
	READING_MODULE = 2,
};

enum kernel_load_data_id {
	LOADING_MODULE = 2,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct trace_event_raw_sys_enter {
	unsigned long args[6];
};

struct trace_event_raw_sys_exit {
	long ret;
};

typedef struct {
	__u32 val;
} kuid_t;

struct cred {
	kuid_t uid, euid;
};

/* More of the structures that kernel.h shares: what it holds is part of every program. */
struct signal_struct___ended {
	int group_exit_code; /* of a process that ended as a whole */
};

struct task_struct___more {
	struct files_struct *files;
	const struct cred *cred;
	struct signal_struct___ended *signal;
	int exit_code;
};

struct qstr {
	union {
		struct {
			__u32 hash;
			__u32 len;
		};
		__u64 hash_len;
	};
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct super_block {
	__u32 s_dev;
};

struct inode {
	__u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
};

struct file {
	unsigned int f_flags;
	void *private_data;
	struct inode *f_inode;
	struct path f_path;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct linux_binprm {
	struct file *file;
	const char *interp;
};

struct sock_common {
	__u32 skc_daddr;
	__u16 skc_dport; /* in network order; the local one is not */
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct {
		__u8 bytes[16];
	} skc_v6_daddr;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
};

struct socket {
	struct sock *sk;
};

struct tcp_sock {
	__u32 rcv_nxt;
	__u64 bytes_received;
	__u32 copied_seq; /* up to where the application has read, as a sequence number */
};

#pragma clang attribute pop

/* A field, read as the way of attaching allows: where the kernel vouches for the pointer by a plain
 * load, else by a copy that may fail. `direct` is known to the compiler. */
#define FIELD(direct, pointer, field) ((direct) ? (pointer)->field : BPF_CORE_READ(pointer, field))

/* The three ways to a function of the kernel's security framework, for a body that is the same. The
 * programs are <name>_lsm, <name>_fentry and <name>_kprobe; none of them refuses anything. */
#define ON_SECURITY(name, hook, function, body, args...) \
	SEC("lsm/" #hook)                                \
	int BPF_PROG(name##_lsm, args)                   \
	{                                                \
		body;                                    \
		return 0;                                \
	}                                                \
                                                         \
	SEC("fentry/" #function)                         \
	int BPF_PROG(name##_fentry, args)                \
	{                                                \
		body;                                    \
		return 0;                                \
	}                                                \
                                                         \
	ON_KPROBE(name, function, body, args)

#define ON_KPROBE(name, function, body, args...) \
	SEC("kprobe/" #function)                 \
	int BPF_KPROBE(name##_kprobe, args)      \
	{                                        \
		body;                            \
		return 0;                        \
	}

/* A perf tracepoint at the entry of a system call, whose arguments are ctx->args. */
#define ON_SYSCALL(name, call, body)                             \
	SEC("tracepoint/syscalls/sys_enter_" #call)              \
	int name##_##call(struct trace_event_raw_sys_enter *ctx) \
	{                                                        \
		body;                                            \
		return 0;                                        \
	}

#endif
