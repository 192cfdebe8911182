// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * CPU time per process, added up at each context switch. Idle time is kept apart; a process is its
 * group id and its leader's start time, read once, at switch-in, while the leader is alive.
 *
 * Everything a scrape needs lies in memory shared with the reader. The whole update stands between
 * two writes of the CPU's sequence, so a reader who saw it even knows that nothing is in flight.
 */
#include "kernel.h"
#include "sched_switch.h"

const volatile __u32 log_mask;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* possible CPUs, set at load */
	__type(key, __u32);
	__type(value, struct cpu_record);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct process_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct process_key);
	__type(value, __u32); /* slot */
} processes SEC(".maps");

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
	__uint(max_entries, 32768);
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

static __always_inline void count_lost(struct sched_switch_counters *counter)
{
	__sync_fetch_and_add(&counter->lost, 1);
}

static __always_inline __u32 find_slot(struct process_key *key,
				       struct sched_switch_counters *counter)
{
	__u32 *found = bpf_map_lookup_elem(&processes, key), slot;
	struct process_slot *fresh;

	if (found)
		return *found;
	if (bpf_map_pop_elem(&free_slots, &slot)) {
		count_lost(counter);
		return NO_SLOT;
	}
	fresh = bpf_map_lookup_elem(&slots, &slot);
	if (!fresh)
		return NO_SLOT;
	fresh->tgid = key->tgid;
	fresh->start = key->start;
	if (!bpf_map_update_elem(&processes, key, &slot, BPF_NOEXIST))
		return slot;
	/* another CPU was first with a thread of the same new process, or the hash is full */
	bpf_map_push_elem(&free_slots, &slot, 0);
	found = bpf_map_lookup_elem(&processes, key);
	if (found)
		return *found;
	count_lost(counter);
	return NO_SLOT;
}

static __always_inline void charge(struct cpu_record *cpu, __u64 ran, bool dead,
				   struct sched_switch_counters *counter)
{
	struct process_slot *slot = bpf_map_lookup_elem(&slots, &cpu->slot);
	__u64 before, *change;
	__u32 at;

	if (!slot) /* counted as lost at switch-in */
		return;
	if (slot->start != cpu->start || slot->tgid != cpu->tgid) {
		count_lost(counter);
		return;
	}
	if (dead)
		WRITE_ONCE(slot->dead, 1);
	/* its result used, this is a full barrier on every machine: either the reader, who clears
	 * `queued` first, sees the new total, or this CPU sees the cleared `queued` */
	before = __sync_fetch_and_add(&slot->ns, ran);
	barrier_var(before);
	if (READ_ONCE(slot->queued) || __sync_lock_test_and_set(&slot->queued, 1))
		return;
	at = __sync_fetch_and_add(&counter->log_head, 1) & log_mask;
	change = bpf_map_lookup_elem(&changes, &at);
	if (change)
		WRITE_ONCE(*change, (__u64)cpu->slot + 1);
}

static __always_inline int account(struct task_struct *prev, struct task_struct *next)
{
	__u32 zero = 0, id = bpf_get_smp_processor_id();
	struct sched_switch_counters *counter = bpf_map_lookup_elem(&counters, &zero);
	struct cpu_record *cpu = bpf_map_lookup_elem(&cpus, &id);
	struct process_key key = {};
	bool dead;
	__u64 now;

	if (!cpu || !counter)
		return 0;
	dead = task_is_dead(prev) && prev->signal->live.counter == 0;
	key.tgid = next->tgid;
	if (key.tgid)
		key.start = next->group_leader->start_boottime;
	/* between threads of one process nothing changes hands */
	if (cpu->tgid == key.tgid && cpu->start == key.start && cpu->since_ns && !dead)
		return 0;

	now = bpf_ktime_get_ns();
	WRITE_ONCE(cpu->sequence, cpu->sequence + 1);
	order_stores(&cpu->scratch);
	if (cpu->since_ns) {
		if (cpu->tgid)
			charge(cpu, now - cpu->since_ns, dead, counter);
		else
			WRITE_ONCE(cpu->idle_ns, cpu->idle_ns + (now - cpu->since_ns));
	}
	WRITE_ONCE(cpu->slot, key.tgid ? find_slot(&key, counter) : NO_SLOT);
	WRITE_ONCE(cpu->tgid, key.tgid);
	WRITE_ONCE(cpu->start, key.start);
	WRITE_ONCE(cpu->since_ns, now);
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
	struct task_struct *task = bpf_get_current_task_btf();
	struct process_key key = {};

	if (!cpu || !counter || cpu->since_ns)
		return 0;
	key.tgid = task->tgid;
	if (key.tgid)
		key.start = task->group_leader->start_boottime;
	cpu->slot = key.tgid ? find_slot(&key, counter) : NO_SLOT;
	cpu->tgid = key.tgid;
	cpu->start = key.start;
	cpu->since_ns = bpf_ktime_get_ns();
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
