// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <time.h>
#include <unistd.h>

#include "collector.h"
#include "gauges.h"

void gauge_facts_set_cpu(struct gauge_facts *facts, const uint64_t cpu_ns[GAUGE_MODES])
{
	static long cpus;
	struct timespec uptime;
	uint64_t most;

	if (!cpus)
		cpus = sysconf(_SC_NPROCESSORS_CONF);
	clock_gettime(CLOCK_BOOTTIME, &uptime);
	/* one second for the rounding of ticks and for counting that began before the clock */
	most = cpus * (uptime.tv_sec + 1) * NSEC_PER_SEC;
	for (int mode = 0; mode < GAUGE_MODES; mode++) {
		if (cpu_ns[mode] < facts->cpu_ns[mode] || cpu_ns[mode] > most)
			facts->clamped++;
		else
			facts->cpu_ns[mode] = cpu_ns[mode];
	}
}

void gauge_facts_dump(const struct gauge_facts *facts, FILE *out)
{
	static const char *const modes[GAUGE_MODES] = {"user",	 "nice", "system",  "idle",
						       "iowait", "irq",	 "softirq", "steal"};

	for (int mode = 0; mode < GAUGE_MODES; mode++)
		fprintf(out, "%s\"%s\":%llu", mode ? "," : "\"cpu_ns\":{", modes[mode],
			(unsigned long long)facts->cpu_ns[mode]);
	fprintf(out, "},\"memory_bytes\":{\"total\":%llu,\"free\":%llu}",
		(unsigned long long)facts->total_bytes, (unsigned long long)facts->free_bytes);
}
