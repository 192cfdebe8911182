// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * CPU time per process without a hook: the kernel calls this program for each task when the reader
 * reads. It notes the scheduler's counts in memory that the reader shares, and tells which processes
 * may have changed: nothing is written into the file that is read.
 *
 * What threads used that have ended is in their group's signal structure.
 */
#include "kernel.h"
#include "task_iter.h"

#define TRIES 12

const volatile __u32 entry_mask;

struct task_iter_state state;

/* By process id, as far as it has bits for. An entry that the last walk did not see is free. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load */
	__type(key, __u32);
	__type(value, struct process_entry);
} entries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load */
	__type(key, __u32);
	__type(value, __u64); /* index of an entry */
} changed SEC(".maps");

/* Where two processes fall on one entry, the second goes where its whole id scatters it. */
static __noinline __u32 settle(__u32 tgid, __u64 start)
{
	__u32 index = tgid & entry_mask, step = tgid * 2654435761u >> 8 | 1, vacant = ~0u;
	struct process_entry *entry;

	for (int i = 0; i < TRIES; i++, index = (index + step) & entry_mask) {
		__u32 key = index;

		entry = bpf_map_lookup_elem(&entries, &key);
		if (!entry)
			break;
		if (entry->tgid == tgid && entry->start == start)
			return index;
		if (vacant == ~0u && entry->scan + 1 < state.scan)
			vacant = index;
	}
	entry = bpf_map_lookup_elem(&entries, &vacant);
	if (!entry) {
		state.lost++;
		return ~0u;
	}
	entry->start = start;
	entry->tgid = tgid;
	entry->scan = 0;
	entry->reported_ns = 0;
	return vacant;
}

static __always_inline void tell(__u32 index)
{
	__u32 at = state.length;
	__u64 *change = bpf_map_lookup_elem(&changed, &at);

	if (!change)
		return;
	*change = index;
	state.length = at + 1;
}

SEC("iter/task")
int task_iter(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct process_entry *entry;
	__u32 index, tgid;
	__u64 start, used_ns;
	bool seen;

	if (!task)
		return 0;
	tgid = task->tgid;
	start = task->group_leader->start_boottime;
	index = tgid & entry_mask;
	entry = bpf_map_lookup_elem(&entries, &index);
	if (!entry || entry->tgid != tgid || entry->start != start) {
		index = settle(tgid, start);
		entry = bpf_map_lookup_elem(&entries, &index);
		if (!entry)
			return 0;
	}
	used_ns = task->se.sum_exec_runtime;
	seen = entry->scan == state.scan;
	entry->scan = state.scan;
	if (task->pid == tgid) {
		struct signal_struct *signal = task->signal;

		used_ns += signal->sum_sched_runtime;
		if (signal->nr_threads == 1) { /* nothing can be added to it: most of them */
			entry->used_ns = used_ns;
			if (used_ns > entry->reported_ns)
				tell(index);
			return 0;
		}
	}
	entry->used_ns = seen ? entry->used_ns + used_ns : used_ns;
	if (!seen)
		tell(index);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
