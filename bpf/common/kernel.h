/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The few fields of kernel structures that the programs read. Offsets come from the running
 * kernel's BTF at load time (CO-RE), so no generated vmlinux.h is needed to build.
 */
#ifndef PROBETAX_KERNEL_H
#define PROBETAX_KERNEL_H

#include <linux/types.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define TASK_DEAD	0x80
#define CLOCK_MONOTONIC 1

#define READ_ONCE(x)	     (*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_entity {
	__u64 sum_exec_runtime; /* brought up to date before the task is switched out */
};

struct signal_struct {		 /* of a process */
	__u64 sum_sched_runtime; /* by its threads that have ended */
	int nr_threads;
	int group_exit_code; /* of a process that ended as a whole */
};

struct task_struct {
	unsigned int __state;
	__u32 pid;
	__u32 tgid;
	__u64 start_boottime;
	struct sched_entity se;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct files_struct *files;
	const struct cred *cred;
	int exit_code;
};

struct bpf_iter__task {
	struct task_struct *task; /* NULL once, after the last */
};

struct task_struct___before_5_14 {
	volatile long state;
};

struct trace_event_raw_sched_switch {
	int prev_pid;
};

struct kernel_cpustat {
	__u64 cpustat[10];
};

#pragma clang attribute pop

static __always_inline bool task_is_dead(struct task_struct *task)
{
	struct task_struct___before_5_14 *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return task->__state == TASK_DEAD;
	return old->state == TASK_DEAD;
}

/* Orders stores for a reader on another CPU. x86 keeps stores in order by itself; elsewhere
 * only an atomic whose result is used is a full barrier in BPF. */
static __always_inline void order_stores(__u32 *scratch)
{
#ifdef __TARGET_ARCH_x86
	(void)scratch;
	barrier();
#else
	__u32 result = __sync_fetch_and_add(scratch, 1);

	barrier_var(result);
#endif
}

#endif
