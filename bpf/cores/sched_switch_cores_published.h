/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Memory shared by the kernel program and its reader: an entry of an array for each CPU. */
#ifndef PROBETAX_SCHED_SWITCH_CORES_PUBLISHED_H
#define PROBETAX_SCHED_SWITCH_CORES_PUBLISHED_H

#include <linux/types.h>

struct published_core {
	__u64 since;  /* of the last switch, CLOCK_MONOTONIC ns; 0: none yet */
	__u64 active; /* on-CPU time of all tasks but the idle one, ns */
};

#endif
