/* SPDX-License-Identifier: MIT */
/* The facts that every collector of the `gauges` study holds after a scrape: since boot. */
#ifndef PROBETAX_GAUGES_H
#define PROBETAX_GAUGES_H

#include <stdint.h>
#include <stdio.h>

enum gauge_mode { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, GAUGE_MODES };

struct gauge_facts {
	uint64_t cpu_ns[GAUGE_MODES]; /* sum over CPUs; guest time is inside user and nice */
	uint64_t total_bytes, free_bytes;
	long long clamped;
};

/*
 * Takes new CPU times. The kernel's idle and iowait may fall and have been seen absurd: a value
 * below the last one, or above CPUs times uptime, is counted and the last one kept.
 */
void gauge_facts_set_cpu(struct gauge_facts *facts, const uint64_t cpu_ns[GAUGE_MODES]);
void gauge_facts_dump(const struct gauge_facts *facts, FILE *out);

#endif
