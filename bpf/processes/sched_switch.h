/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Memory shared by the kernel program and its reader. One cache line (64 bytes) per element. */
#ifndef PROBETAX_SCHED_SWITCH_H
#define PROBETAX_SCHED_SWITCH_H

#include <linux/types.h>

#define NO_SLOT 0xffffffffu

/* What a CPU runs now. Written by that CPU alone, under the sequence (odd: being written). */
struct cpu_record {
	__u32 sequence;
	__u32 slot;	/* of the running task; NO_SLOT: idle, or no slot was free */
	__u32 tgid;	/* 0: idle */
	__u32 scratch;	/* for order_stores() */
	__u64 task;	/* its address: nothing but an identity */
	__u64 since_ns; /* when it began to run, CLOCK_MONOTONIC; 0: nothing seen on this CPU yet */
	__u64 idle_ns;	/* finished idle periods */
	__u64 unused[3];
};

/* A task, from its first run to the scrape after its end. */
struct task_slot {
	__u32 tgid;
	__u32 queued;	   /* it stands in the log */
	__u64 start;	   /* start_boottime of the group's leader, ns: with tgid, the process */
	__u64 used_ns;	   /* the scheduler's count when it was last switched out */
	__u64 reported_ns; /* how much of it the reader has handed out; set at the first run */
	__u32 dead;	   /* it will not run again */
	__u32 scratch;
	__u64 unused[3];
};

struct sched_switch_counters {
	__u32 log_head;
	__u32 padding[15];
	__u64 lost;   /* runs for which no slot was to be had */
	__u64 missed; /* switches that the kernel did not report */
	__u64 unused[6];
};

#endif
