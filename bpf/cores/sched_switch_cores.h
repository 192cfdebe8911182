/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Memory shared by the kernel program and its reader: a cache line (64 bytes) for each CPU. */
#ifndef PROBETAX_SCHED_SWITCH_CORES_H
#define PROBETAX_SCHED_SWITCH_CORES_H

#include <linux/types.h>

/*
 * `active` says all in one word, so that no reader ever sees half of a change. While the CPU idles
 * it is the time for which it was active, in ns; while it runs a task, that time less the moment at
 * which it began to (CLOCK_MONOTONIC, ns), which is below 0: add the present moment.
 */
struct core_record {
	__s64 active;
	__u64 began;  /* when it last ceased to idle */
	__u64 task;   /* what it ran then: nothing but an address */
	__u64 used;   /* by that task until then, ns */
	__u64 missed; /* changes that the kernel did not report */
	__u64 unused[3];
};

#endif
