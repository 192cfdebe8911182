/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Memory shared by the kernel program and its reader, which starts it and waits: no races. */
#ifndef PROBETAX_TASK_ITER_H
#define PROBETAX_TASK_ITER_H

#include <linux/types.h>

struct task_iter_state {
	__u32 scan;   /* number of this walk over the tasks */
	__u32 length; /* of `changed` */
	__u64 lost;   /* processes for which no entry was to be had */
};

/* A process. */
struct process_entry {
	__u64 start; /* start_boottime of the group's leader, ns: with tgid, the process */
	__u32 tgid;
	__u32 scan;	   /* the last walk that saw it */
	__u64 used_ns;	   /* by its threads seen in that walk, and by those that have ended */
	__u64 reported_ns; /* how much of it the reader has handed out */
};

#endif
