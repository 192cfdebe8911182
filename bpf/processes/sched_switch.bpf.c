// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * CPU time per process, noted at each context switch; idle time is kept apart.
 *
 * Nothing is added up here. The scheduler counts what each task has used (sum_exec_runtime, which
 * /proc shows cut into ticks); this program copies that count when a task is switched out. A switch
 * that goes unseen, and some kernels do not report all of them, only delays time, never loses it.
 *
 * A process is its group id and its leader's start time, read at a task's first run.
 *
 * Everything a scrape needs lies in memory shared with the reader. The whole update stands between
 * two writes of the CPU's sequence, so a reader who saw it even knows that nothing is in flight.
 */
#include "kernel.h"
#include "sched_switch.h"

const volatile __u32 log_mask;
const volatile __u64 loaded_at; /* CLOCK_BOOTTIME, ns */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* by CPU number, set at load */
	__type(key, __u32);
	__type(value, struct cpu_record);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct task_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);   /* address of the task */
	__type(value, __u32); /* slot */
} tasks SEC(".maps");

/* Last freed, first taken: the slots in use stay together. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 16384);
	__type(value, __u32);
} free_slots SEC(".maps");

/* Slots that changed since the reader looked, plus one; 0: not written yet. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} changes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sched_switch_counters);
} counters SEC(".maps");

/* Notes what the task of a slot has used, and tells the reader unless it has been told. */
static __always_inline void note(struct task_slot *slot, __u32 index, __u64 used_ns, bool dead,
				 struct sched_switch_counters *counter)
{
	__u64 *change;
	__u32 at;

	if (dead)
		WRITE_ONCE(slot->dead, 1);
	/* its result used, this is a full barrier on every machine: either the reader, who clears
	 * `queued` first, sees the new value, or this CPU sees the cleared `queued` */
	if (__sync_lock_test_and_set(&slot->used_ns, used_ns) == used_ns && !dead)
		return;
	if (READ_ONCE(slot->queued) || __sync_lock_test_and_set(&slot->queued, 1))
		return;
	at = __sync_fetch_and_add(&counter->log_head, 1) & log_mask;
	change = bpf_map_lookup_elem(&changes, &at);
	if (change)
		WRITE_ONCE(*change, (__u64)index + 1);
}

static __always_inline __u32 take_slot(struct task_struct *task, __u64 key,
				       struct sched_switch_counters *counter)
{
	struct task_slot *slot;
	__u64 base_ns;
	__u32 index;

	if (bpf_map_pop_elem(&free_slots, &index)) {
		__sync_fetch_and_add(&counter->lost, 1);
		return NO_SLOT;
	}
	slot = bpf_map_lookup_elem(&slots, &index);
	if (!slot)
		return NO_SLOT;
	slot->tgid = task->tgid;
	slot->start = task->group_leader->start_boottime;
	/* what an older task used before is not this collector's to report */
	base_ns = task->start_boottime > loaded_at ? 0 : task->se.sum_exec_runtime;
	slot->reported_ns = base_ns;
	order_stores(&slot->scratch);
	WRITE_ONCE(slot->used_ns, base_ns);
	if (!bpf_map_update_elem(&tasks, &key, &index, BPF_ANY))
		return index;
	bpf_map_push_elem(&free_slots, &index, 0);
	__sync_fetch_and_add(&counter->lost, 1);
	return NO_SLOT;
}

static __always_inline __u32 find_slot(struct task_struct *task,
				       struct sched_switch_counters *counter)
{
	__u64 key = (__u64)task;
	__u32 *found = bpf_map_lookup_elem(&tasks, &key);
	struct task_slot *slot;

	if (!found)
		return take_slot(task, key, counter);
	slot = bpf_map_lookup_elem(&slots, found);
	if (!slot)
		return NO_SLOT;
	if (slot->tgid == task->tgid && slot->used_ns <= task->se.sum_exec_runtime)
		return *found;
	/* a new task at the address of one whose end went unseen */
	note(slot, *found, slot->used_ns, true, counter);
	return take_slot(task, key, counter);
}

static __always_inline void switch_out(struct cpu_record *cpu, struct task_struct *task, __u64 now,
				       struct sched_switch_counters *counter)
{
	__u64 key = (__u64)task, idle_ns = cpu->since_ns ? now - cpu->since_ns : 0;
	__u64 used_ns = task->se.sum_exec_runtime, ran = 0;
	bool expected = cpu->task == key, dead = task_is_dead(task);
	struct task_slot *slot;
	__u32 index;

	if (task->pid) {
		index = expected ? cpu->slot : find_slot(task, counter);
		slot = bpf_map_lookup_elem(&slots, &index);
		if (slot) {
			ran = used_ns - slot->used_ns;
			note(slot, index, used_ns, dead, counter);
		}
		if (dead)
			bpf_map_delete_elem(&tasks, &key);
		if (expected)
			return;
		idle_ns = idle_ns > ran ? idle_ns - ran : 0;
	}
	/* after an unseen switch, what the task at the end has not used was idle */
	WRITE_ONCE(cpu->idle_ns, cpu->idle_ns + idle_ns);
	if (!expected && cpu->since_ns)
		__sync_fetch_and_add(&counter->missed, 1);
}

static __always_inline void switch_in(struct cpu_record *cpu, struct task_struct *task, __u64 now,
				      struct sched_switch_counters *counter)
{
	WRITE_ONCE(cpu->slot, task->pid ? find_slot(task, counter) : NO_SLOT);
	WRITE_ONCE(cpu->tgid, task->tgid);
	cpu->task = (__u64)task;
	WRITE_ONCE(cpu->since_ns, now);
}

static __always_inline int account(struct task_struct *prev, struct task_struct *next)
{
	__u32 zero = 0, id = bpf_get_smp_processor_id();
	struct sched_switch_counters *counter = bpf_map_lookup_elem(&counters, &zero);
	struct cpu_record *cpu = bpf_map_lookup_elem(&cpus, &id);
	__u64 now = bpf_ktime_get_ns();

	if (!cpu || !counter)
		return 0;
	WRITE_ONCE(cpu->sequence, cpu->sequence + 1);
	order_stores(&cpu->scratch);
	switch_out(cpu, prev, now, counter);
	switch_in(cpu, next, now, counter);
	order_stores(&cpu->scratch);
	WRITE_ONCE(cpu->sequence, cpu->sequence + 1);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return account(prev, next);
}

/* The same for kernels that pass prev_state before the tasks; the loader picks one of the two. */
SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch_5_18, bool preempt, unsigned int prev_state, struct task_struct *prev,
	     struct task_struct *next)
{
	return account(prev, next);
}

/* Run once by interrupt on each CPU after attaching: what runs there now, since now. Without it a
 * busy loop older than the collector would stay unseen until its first switch. */
SEC("raw_tp")
int seed(void *ctx)
{
	__u32 zero = 0, id = bpf_get_smp_processor_id();
	struct sched_switch_counters *counter = bpf_map_lookup_elem(&counters, &zero);
	struct cpu_record *cpu = bpf_map_lookup_elem(&cpus, &id);

	if (cpu && counter && !cpu->since_ns)
		switch_in(cpu, bpf_get_current_task_btf(), bpf_ktime_get_ns(), counter);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
