/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What a process does to its own rights, to other processes, and to the kernel. */
#ifndef PROBETAX_SENSOR_PRIVILEGES_H
#define PROBETAX_SENSOR_PRIVILEGES_H

#include "paths.bpf.h"

static __always_inline void report_ids(void *ctx, const struct cred *old, __u32 uid, __u32 euid)
{
	struct event *event = event_begin(EVENT_SETUID);

	if (!event)
		return;
	event->facts.ids.from_uid = BPF_CORE_READ(old, uid.val);
	event->facts.ids.from_euid = BPF_CORE_READ(old, euid.val);
	event->facts.ids.to_uid = uid;
	event->facts.ids.to_euid = euid;
	event_end(ctx, event);
}

static __always_inline const struct cred *own_cred(void)
{
	struct task_struct___more *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, cred);
}

ON_SECURITY(setuid, task_fix_setuid, security_task_fix_setuid,
	    report_ids(ctx, old, BPF_CORE_READ(new, uid.val), BPF_CORE_READ(new, euid.val)),
	    struct cred *new, const struct cred *old)
ON_SYSCALL(enter, setresuid, report_ids(ctx, own_cred(), ctx->args[0], ctx->args[1]))
ON_SYSCALL(enter, setreuid, report_ids(ctx, own_cred(), ctx->args[0], ctx->args[1]))
ON_SYSCALL(enter, setuid, report_ids(ctx, own_cred(), ctx->args[0], ctx->args[0]))
ON_SYSCALL(enter, setfsuid, report_ids(ctx, own_cred(), NO_ID, NO_ID))

static __always_inline void report_ptrace(void *ctx, __s32 target, __u32 request)
{
	struct event *event = event_begin(EVENT_PTRACE);

	if (!event)
		return;
	event->facts.ptrace.target = target;
	event->facts.ptrace.request = request;
	event_end(ctx, event);
}

static __always_inline __s32 own_pid(void)
{
	return bpf_get_current_pid_tgid() >> 32;
}

/* Looking into /proc passes here too, at the lower level of reading: that is no tracing. */
ON_SECURITY(ptrace, ptrace_access_check, security_ptrace_access_check,
	    if (mode & PTRACE_MODE_ATTACH)
		    report_ptrace(ctx, BPF_CORE_READ(child, tgid), PTRACE_ATTACH),
	    struct task_struct *child, unsigned int mode)
ON_SECURITY(traceme, ptrace_traceme, security_ptrace_traceme,
	    report_ptrace(ctx, own_pid(), PTRACE_TRACEME), struct task_struct *parent)

static __always_inline void report_ptrace_call(void *ctx, unsigned long request, unsigned long pid)
{
	if (request == PTRACE_TRACEME)
		report_ptrace(ctx, own_pid(), request);
	else if (request == PTRACE_ATTACH || request == PTRACE_SEIZE)
		report_ptrace(ctx, pid, request);
}

ON_SYSCALL(enter, ptrace, report_ptrace_call(ctx, ctx->args[0], ctx->args[1]))

static __always_inline void report_kill(void *ctx, __s32 target, __u32 signal)
{
	struct event *event = event_begin(EVENT_KILL);

	if (!event)
		return;
	event->facts.kill.target = target;
	event->facts.kill.signal = signal;
	event_end(ctx, event);
}

ON_SECURITY(kill, task_kill, security_task_kill,
	    report_kill(ctx, BPF_CORE_READ(target, tgid), number), struct task_struct *target,
	    void *info, int number)
ON_SYSCALL(enter, kill, report_kill(ctx, ctx->args[0], ctx->args[1]))
ON_SYSCALL(enter, tgkill, report_kill(ctx, ctx->args[0], ctx->args[2]))
ON_SYSCALL(enter, tkill, report_kill(ctx, ctx->args[0], ctx->args[1]))

static __always_inline void report_bpf(void *ctx, __u32 command, __u32 size)
{
	struct event *event = event_begin(EVENT_BPF);

	if (!event)
		return;
	event->facts.bpf.command = command;
	event->facts.bpf.size = size;
	event_end(ctx, event);
}

ON_SECURITY(bpf, bpf, security_bpf, report_bpf(ctx, command, size), int command,
	    union bpf_attr *attributes, unsigned int size)
ON_SYSCALL(enter, bpf, report_bpf(ctx, ctx->args[0], ctx->args[2]))

static __always_inline void report_module(void *ctx, struct file *file)
{
	struct event_with_path *event = path_event_begin(EVENT_MODULE_LOAD);

	if (!event)
		return;
	path_event_end(ctx, event,
		       file ? path_of_file(&event->path, file) : text_end(&event->path, 0));
}

/* The kernel reads other things by the same function; their numbers have changed over time. */
ON_SECURITY(module, kernel_read_file, security_kernel_read_file,
	    if (id == (int)bpf_core_enum_value(enum kernel_read_file_id, READING_MODULE))
		    report_module(ctx, file),
	    struct file *file, int id)
ON_SECURITY(module_data, kernel_load_data, security_kernel_load_data,
	    if (id == (int)bpf_core_enum_value(enum kernel_load_data_id, LOADING_MODULE))
		    report_module(ctx, NULL),
	    int id)
ON_SYSCALL(enter, finit_module, report_module(ctx, file_of(ctx->args[0])))
ON_SYSCALL(enter, init_module, report_module(ctx, NULL))

#endif
