// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * CPU time per process, noted at each context switch.
 *
 * Nothing is added up here and no clock is read. The scheduler counts what each task has used
 * (sum_exec_runtime, which /proc shows cut into ticks); this program copies that count when a task
 * is switched out. A switch that goes unseen, and some kernels do not report all of them, only
 * delays time, never loses it.
 *
 * A task's slot is the one that its id says, so that finding it takes an addition; only where two
 * ids fall on one slot does a hash have to say where the second task went. What runs is handed on
 * from the switch in to the switch out by the CPU's record. A process is its group id and its
 * leader's start time, read at a task's first run.
 *
 * The slots that changed form a list per CPU, for the reader to take as a whole.
 */
#include "kernel.h"
#include "sched_switch.h"

const volatile __u64 loaded_at; /* CLOCK_BOOTTIME, ns */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* by CPU number, set at load */
	__type(key, __u32);
	__type(value, struct cpu_record);
} cpus SEC(".maps");

/* The direct ones, by task id, and after them those for tasks whose direct slot is taken. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load */
	__type(key, __u32);
	__type(value, struct task_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);   /* address of a task without a direct slot */
	__type(value, __u32); /* its place */
} displaced SEC(".maps");

/* Places for the displaced. Last freed, first taken: those in use stay together. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__type(value, __u32);
} free_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* by CPU number, set at load */
	__type(key, __u32);
	__type(value, struct running_sample);
} samples SEC(".maps");

static __always_inline struct task_slot *slot_at(__u32 place)
{
	__u32 index = place - 1;

	return bpf_map_lookup_elem(&slots, &index);
}

static __always_inline bool holds(const struct task_slot *slot, struct task_struct *task)
{
	return slot->task == (__u64)task && slot->tgid == task->tgid;
}

/* Puts a slot into this CPU's list, unless it stands in one. Only the reader comes between, once a
 * scrape, so the second try succeeds. */
static __noinline void list(struct cpu_record *cpu, struct task_slot *slot, __u32 place)
{
	if (__sync_val_compare_and_swap(&slot->next, 0, LAST))
		return;
	for (int i = 0; i < 4; i++) {
		__u32 first = READ_ONCE(cpu->changed);

		WRITE_ONCE(slot->next, first ? first : LAST);
		if (__sync_val_compare_and_swap(&cpu->changed, first, place) == first)
			return;
	}
	WRITE_ONCE(slot->next, 0);
}

/* The exchange is a full barrier, as is the reader's between clearing `next` and reading: either it
 * sees the end, or the end is listed once more. Who is dead is said by id, for the reader may free
 * the slot at this very moment, and the next task is not to inherit the end. */
static __always_inline void bury(struct cpu_record *cpu, struct task_slot *slot, __u32 place,
				 __u32 pid)
{
	if (__sync_lock_test_and_set(&slot->dead, pid) != pid)
		list(cpu, slot, place);
}

static __always_inline void fill(struct task_slot *slot, struct task_struct *task, bool entering)
{
	/* what a task used before this collector came is not its to report */
	__u64 base_ns =
		entering || task->start_boottime <= loaded_at ? task->se.sum_exec_runtime : 0;

	slot->dead = 0;
	slot->reported_ns = base_ns;
	slot->start = task->group_leader->start_boottime;
	slot->tgid = task->tgid;
	slot->pid = task->pid;
	/* last, and a barrier: a slot may still stand in a list, and until here, being 0, it says
	 * nothing to the reader */
	__sync_lock_test_and_set(&slot->used_ns, base_ns);
}

/* The place of a task that is not where its id says: a new one, or one that was displaced. */
static __noinline __u32 settle(struct cpu_record *cpu, struct task_struct *task, bool entering)
{
	__u64 key = (__u64)task;
	__u32 *known = bpf_map_lookup_elem(&displaced, &key), place;
	struct task_slot *slot;
	__u32 pid;

	if (known) {
		place = *known;
		slot = slot_at(place);
		if (slot && holds(slot, task) && slot->used_ns <= task->se.sum_exec_runtime)
			return place;
		/* a new task at the address of one whose end went unseen */
		bpf_map_delete_elem(&displaced, &key);
		if (slot && slot->task == key)
			bury(cpu, slot, place, slot->pid);
	}
	place = (task->pid & cpu->direct_mask) + 1;
	slot = slot_at(place);
	if (!slot)
		return NO_PLACE;
	if (!slot->task && !__sync_val_compare_and_swap(&slot->task, 0, key)) {
		fill(slot, task, entering);
		return place;
	}
	/* the end of one that had this id, or this address, went unseen */
	pid = slot->pid;
	if (pid == task->pid || slot->task == key)
		bury(cpu, slot, place, pid);
	if (bpf_map_pop_elem(&free_places, &place)) {
		cpu->lost++;
		return NO_PLACE;
	}
	slot = slot_at(place);
	if (!slot)
		return NO_PLACE;
	slot->task = key;
	fill(slot, task, entering);
	if (!bpf_map_update_elem(&displaced, &key, &place, BPF_ANY))
		return place;
	slot->pid = 0;
	slot->used_ns = 0;
	slot->task = 0;
	bpf_map_push_elem(&free_places, &place, 0);
	cpu->lost++;
	return NO_PLACE;
}

static __always_inline __u32 find(struct cpu_record *cpu, struct task_struct *task, bool entering)
{
	__u32 place = (task->pid & cpu->direct_mask) + 1;
	struct task_slot *slot = slot_at(place);

	return slot && holds(slot, task) ? place : settle(cpu, task, entering);
}

static __always_inline void leave(struct cpu_record *cpu, struct task_struct *task)
{
	__u32 place = cpu->running;
	struct task_slot *slot = slot_at(place);

	if (!slot || slot->task != (__u64)task) {
		if (place == NO_PLACE || (!task->pid && place == IDLE))
			return;
		if (place != UNSEEN)
			cpu->missed++;
		if (!task->pid)
			return;
		place = find(cpu, task, false);
		slot = slot_at(place);
		if (!slot)
			return;
	}
	WRITE_ONCE(slot->used_ns, task->se.sum_exec_runtime);
	if (task_is_dead(task)) {
		__u64 key = (__u64)task;

		if (place > cpu->direct_mask + 1)
			bpf_map_delete_elem(&displaced, &key);
		bury(cpu, slot, place, slot->pid);
		return;
	}
	/* no barrier between: should the reader take it off the list at this very moment, it sees
	 * the new count when it looks a second time */
	barrier();
	if (!READ_ONCE(slot->next))
		list(cpu, slot, place);
}

static __always_inline void enter(struct cpu_record *cpu, struct task_struct *task)
{
	WRITE_ONCE(cpu->running, task->pid ? find(cpu, task, true) : IDLE);
}

static __always_inline int account(struct task_struct *prev, struct task_struct *next)
{
	__u32 id = bpf_get_smp_processor_id();
	struct cpu_record *cpu = bpf_map_lookup_elem(&cpus, &id);

	if (!cpu)
		return 0;
	leave(cpu, prev);
	enter(cpu, next);
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

/* Run once by interrupt on each CPU after attaching: what runs there now. Without it a busy loop
 * older than the collector would stay unseen until its first switch. */
SEC("raw_tp")
int seed(void *ctx)
{
	__u32 id = bpf_get_smp_processor_id();
	struct cpu_record *cpu = bpf_map_lookup_elem(&cpus, &id);

	if (cpu && cpu->running == UNSEEN)
		enter(cpu, bpf_get_current_task_btf());
	return 0;
}

static long sample_cpu(void *map, __u32 *id, struct cpu_record *cpu, void *context)
{
	struct running_sample *running = bpf_map_lookup_elem(&samples, id);
	__u32 place = READ_ONCE(cpu->running);
	struct task_slot *slot = slot_at(place);
	struct task_struct *task;

	if (!running)
		return 1;
	running->place = 0;
	if (!slot)
		return 0;
	task = (void *)slot->task;
	if (BPF_CORE_READ(task, pid) != slot->pid)
		return 0;
	running->used_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	running->place = place;
	return 0;
}

/* Run by the reader, when something else runs: the scheduler's counts of what the CPUs run, brought
 * up to date at each of its ticks. A task that ends meanwhile stays readable until this returns. */
SEC("raw_tp")
int sample(void *ctx)
{
	bpf_for_each_map_elem(&cpus, sample_cpu, NULL, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
