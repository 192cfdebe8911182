/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The one body of both programs: sum kernel_cpustat over the CPUs, read two memory counters. */
#ifndef PROBETAX_SNAPSHOT_BPF_H
#define PROBETAX_SNAPSHOT_BPF_H

#include "kernel.h"
#include "snapshot.h"

enum cpu_usage_stat {
	CPUTIME_USER,
	CPUTIME_NICE,
	CPUTIME_SYSTEM,
	CPUTIME_SOFTIRQ,
	CPUTIME_IRQ,
	CPUTIME_IDLE,
	CPUTIME_IOWAIT,
	CPUTIME_STEAL,
};

enum zone_stat_item { NR_FREE_PAGES };

/* These are data symbols: the kernel resolves them only if built with CONFIG_KALLSYMS_ALL. */
extern const struct kernel_cpustat kernel_cpustat __ksym;
extern const void vm_zone_stat __ksym;
extern const void _totalram_pages __ksym;

const volatile __u32 cpu_ids = 1;
const volatile __u64 possible_cpus[MAX_CPUS / 64] = {1};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct snapshot);
} snapshots SEC(".maps");

static __always_inline __u64 read_counter(const void *base, __u32 index)
{
	long value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), base + index * sizeof(value));
	return value < 0 ? 0 : value; /* per-CPU differences not folded yet, as in /proc */
}

static __always_inline void take_snapshot(void)
{
	__u64 begin = bpf_ktime_get_ns(), sum[CPU_MODES] = {};
	const struct kernel_cpustat *cpu;
	struct snapshot *snapshot;
	__u32 zero = 0;

	snapshot = bpf_map_lookup_elem(&snapshots, &zero);
	if (!snapshot)
		return;
	WRITE_ONCE(snapshot->started, snapshot->started + 1);
	order_stores(&snapshot->scratch);
	for (__u32 id = 0; id < cpu_ids && id < MAX_CPUS; id++) {
		if (!(possible_cpus[id / 64] >> (id % 64) & 1))
			continue;
		cpu = bpf_per_cpu_ptr(&kernel_cpustat, id);
		if (!cpu)
			break;
		sum[0] += cpu->cpustat[CPUTIME_USER];
		sum[1] += cpu->cpustat[CPUTIME_NICE];
		sum[2] += cpu->cpustat[CPUTIME_SYSTEM];
		sum[3] += cpu->cpustat[CPUTIME_IDLE];
		sum[4] += cpu->cpustat[CPUTIME_IOWAIT];
		sum[5] += cpu->cpustat[CPUTIME_IRQ];
		sum[6] += cpu->cpustat[CPUTIME_SOFTIRQ];
		sum[7] += cpu->cpustat[CPUTIME_STEAL];
	}
	for (int mode = 0; mode < CPU_MODES; mode++)
		snapshot->cpu_ns[mode] = sum[mode];
	snapshot->total_pages = read_counter(&_totalram_pages, 0);
	snapshot->free_pages = read_counter(
		&vm_zone_stat, bpf_core_enum_value(enum zone_stat_item, NR_FREE_PAGES));
	snapshot->kernel_ns += bpf_ktime_get_ns() - begin;
	order_stores(&snapshot->scratch);
	WRITE_ONCE(snapshot->finished, snapshot->started);
}

#endif
