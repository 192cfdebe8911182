// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The source's algorithm from its description, written anew: at each switch the time since the last
 * one is added to this CPU's entry of an array, unless the task that goes is the idle one. The
 * tracepoint's record is declared here by hand, so that no kernel type information is read. Its
 * faults belong to it and stay: a clock read at every switch, and what runs at a scrape is missing.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "sched_switch_cores_published.h"

/* As /sys/kernel/tracing/events/sched/sched_switch/format has it. */
struct sched_switch_record {
	__u64 common;
	char prev_comm[16];
	__s32 prev_pid;
	/* prev_prio, prev_state, next_comm, next_pid, next_prio */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* by CPU number, set at load */
	__type(key, __u32);
	__type(value, struct published_core);
} cores SEC(".maps");

SEC("tracepoint/sched/sched_switch")
int published(struct sched_switch_record *record)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 cpu = bpf_get_smp_processor_id();
	struct published_core *core = bpf_map_lookup_elem(&cores, &cpu);

	if (!core)
		return 0;
	if (core->since && record->prev_pid)
		core->active += now - core->since;
	core->since = now;
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
