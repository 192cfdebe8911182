/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Memory shared by the kernel program and its reader. One cache line (64 bytes) per element.
 *
 * A place is an index into the slots plus one, so that 0 can stand for none.
 */
#ifndef PROBETAX_SCHED_SWITCH_H
#define PROBETAX_SCHED_SWITCH_H

#include <linux/types.h>

#define IDLE	 0u	     /* as the place of what a CPU runs */
#define NO_PLACE 0xffffffffu /* no slot was free */
#define UNSEEN	 0xfffffffeu /* nothing seen on this CPU yet */
#define LAST	 0xffffffffu /* as the next of the last slot in a list */

/* Written by its CPU alone, but for `changed`, which the reader empties. */
struct cpu_record {
	__u32 running;	   /* the place of the task that it runs */
	__u32 changed;	   /* the slot that changed last since the reader looked; 0: none */
	__u32 direct_mask; /* set by the reader, here since this line is in the cache anyway */
	__u32 padding;
	__u64 lost;   /* runs for which no slot was to be had */
	__u64 missed; /* switches that the kernel did not report */
	__u64 unused[4];
};

/* A task, from its first run to the scrape after its end. The program writes it, at most one CPU at
 * a time; the reader what is said to be its own, and all of it once the task is dead. */
struct task_slot {
	__u64 task;    /* its address: nothing but an identity; 0: free */
	__u64 used_ns; /* the scheduler's count when it was last switched out */
	__u32 tgid;
	__u32 next; /* place, in the list of what changed; 0: in none. Cleared by the reader */
	__u32 pid;
	__u32 dead;	   /* `pid` if it will not run again; any other means nothing */
	__u64 start;	   /* start_boottime of the group's leader, ns: with tgid, the process */
	__u64 reported_ns; /* how much of it the reader has handed out; set at the first run */
	__u64 scrape;	   /* the reader's own: the last scrape that looked at it */
	__u64 ran;	   /* the reader's own: the last scrape that found it on a CPU */
};

/* What a CPU ran when the reader asked, and the scheduler's count of it. */
struct running_sample {
	__u32 place; /* 0: nothing that has a slot */
	__u32 padding;
	__u64 used_ns;
};

#endif
