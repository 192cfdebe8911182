/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Memory shared by the kernel program and its reader. One cache line (64 bytes) per element. */
#ifndef PROBETAX_SCHED_SWITCH_H
#define PROBETAX_SCHED_SWITCH_H

#include <linux/types.h>

#define NO_SLOT 0xffffffffu

/* What a CPU runs now. Written by that CPU alone, under the sequence (odd: being written). */
struct cpu_record {
	__u32 sequence;
	__u32 slot;	/* of the running process; NO_SLOT: idle, or no slot was free */
	__u32 tgid;	/* 0: idle */
	__u32 scratch;	/* for order_stores() */
	__u64 start;	/* start_boottime of the group's leader, ns */
	__u64 since_ns; /* when it began to run, CLOCK_MONOTONIC; 0: nothing seen on this CPU yet */
	__u64 idle_ns;	/* finished idle periods */
	__u64 unused[3];
};

/* A process, from its first run to one or two scrapes after its end. */
struct process_slot {
	__u32 tgid;
	__u32 queued; /* it stands in the log */
	__u64 start;
	__u64 ns;   /* finished runs, since the slot was taken */
	__u32 dead; /* its last thread has left */
	__u32 padding;
	__u64 unused[4];
};

struct process_key {
	__u32 tgid;
	__u32 zero;
	__u64 start;
};

struct sched_switch_counters {
	__u32 log_head;
	__u32 padding[15];
	__u64 lost; /* runs for which no slot was to be had */
	__u64 unused[7];
};

#endif
