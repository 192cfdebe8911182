// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Time for which each CPU is active, noted where a CPU begins or ends to idle.
 *
 * A switch from one task to another changes nothing: the CPU is active before and after. Only those
 * from and to the idle task (pid 0, one for each CPU) read the clock and write to a cache line.
 *
 * Some kernels do not report every switch. A CPU that idles without having been seen to begin with it
 * would be taken for active; when it is seen to cease, what the scheduler billed to the task that it ran
 * before is put in place of that time.
 */
#include "kernel.h"
#include "sched_switch_cores.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* by CPU number, set at load */
	__type(key, __u32);
	__type(value, struct core_record);
} cores SEC(".maps");

static __always_inline void begin(struct core_record *core, struct task_struct *task, __u64 now)
{
	core->began = now;
	core->task = (__u64)task;
	core->used = task->se.sum_exec_runtime;
	WRITE_ONCE(core->active, core->active - (__s64)now);
}

/* Back to idle, with no more than the task has run; the task may be gone: then it is any number. */
static __noinline void correct(struct core_record *core, __u64 now)
{
	struct task_struct *task = (void *)core->task;
	__u64 lasted = now - core->began;
	__u64 ran = BPF_CORE_READ(task, se.sum_exec_runtime) - core->used;

	core->missed++;
	WRITE_ONCE(core->active,
		   core->active + (__s64)(core->began + (ran < lasted ? ran : lasted)));
}

static __always_inline int account(struct task_struct *prev, struct task_struct *next)
{
	bool idles = !next->pid;
	struct core_record *core;
	__u64 now;
	__u32 id;

	if (idles == !prev->pid)
		return 0;
	id = bpf_get_smp_processor_id();
	core = bpf_map_lookup_elem(&cores, &id);
	if (!core)
		return 0;
	now = bpf_ktime_get_ns();
	if (!idles) {
		if (core->active < 0)
			correct(core, now);
		begin(core, next, now);
	} else if (core->active < 0) {
		WRITE_ONCE(core->active, core->active + (__s64)now);
	} else {
		core->missed++;
	}
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

/* Run once by interrupt on each CPU after attaching. Without it a CPU that runs a task already would
 * be taken for idle until it idles. One that comes online later begins idle, as its record does. */
SEC("raw_tp")
int seed(void *ctx)
{
	__u32 id = bpf_get_smp_processor_id();
	struct core_record *core = bpf_map_lookup_elem(&cores, &id);
	struct task_struct *task = bpf_get_current_task_btf();

	if (core && core->active >= 0 && task->pid)
		begin(core, task, bpf_ktime_get_ns());
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
