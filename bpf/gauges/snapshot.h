/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What both kernel programs of this study write and their readers read. */
#ifndef PROBETAX_SNAPSHOT_H
#define PROBETAX_SNAPSHOT_H

#include <linux/types.h>

#define MAX_CPUS  4096
#define CPU_MODES 8

/*
 * A copy is whole if `finished` equals `started`: the writer moves `started` first and `finished`
 * last, the kernel copies the value from its beginning to its end.
 */
struct snapshot {
	__u64 finished;
	__u64 cpu_ns[CPU_MODES]; /* user, nice, system, idle, iowait, irq, softirq, steal */
	__u64 total_pages, free_pages;
	__u64 kernel_ns; /* self-timed, all snapshots together */
	__u64 started;
	__u32 scratch, padding;
};

#endif
