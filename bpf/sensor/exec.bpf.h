/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Programs that are executed, and the processes that come and go. */
#ifndef PROBETAX_SENSOR_EXEC_H
#define PROBETAX_SENSOR_EXEC_H

#include "paths.bpf.h"

/* An empty path may stand for the open file itself; then it is the file's path that is reported. */
static __always_inline void report_exec(void *ctx, __u16 kind, __s32 directory, const void *path,
					__u32 how)
{
	struct event_with_path *event = path_event_begin(kind);
	struct file *file;
	__u16 flags;

	if (!event)
		return;
	event->head.facts.exec.directory = directory;
	event->head.facts.exec.flags = how;
	flags = path_of_user(&event->path, path);
	if (how & AT_EMPTY_PATH && !event->path.bytes[0]) {
		file = file_of(directory);
		if (file)
			flags = path_of_file(&event->path, file);
	}
	path_event_end(ctx, event, flags);
}

ON_SYSCALL(enter, execve, report_exec(ctx, EVENT_EXECVE, AT_FDCWD, (void *)ctx->args[0], 0))
ON_SYSCALL(enter, execveat,
	   report_exec(ctx, EVENT_EXECVEAT, ctx->args[0], (void *)ctx->args[1], ctx->args[4]))

/* The binary under check: of a script first the script, then, in a second check, its interpreter. */
static __always_inline void report_binary(void *ctx, struct linux_binprm *binary)
{
	struct event_with_path *event = path_event_begin(EVENT_BPRM_CHECK);
	struct inode *inode;

	if (!event)
		return;
	inode = BPF_CORE_READ(binary, file, f_inode);
	event->head.facts.binary.inode = BPF_CORE_READ(inode, i_ino);
	event->head.facts.binary.device = BPF_CORE_READ(inode, i_sb, s_dev);
	event->head.facts.binary.mode = BPF_CORE_READ(inode, i_mode);
	path_event_end(ctx, event, path_of_kernel(&event->path, BPF_CORE_READ(binary, interp)));
}

ON_SECURITY(bprm, bprm_check_security, security_bprm_check, report_binary(ctx, binary),
	    struct linux_binprm *binary)

SEC("tp_btf/sched_process_exec")
int BPF_PROG(bprm_executed, struct task_struct *task, int old_pid, struct linux_binprm *binary)
{
	report_binary(ctx, binary);
	return 0;
}

/* A process, not a thread: those are many and share everything that a sensor watches. */
static __always_inline void report_fork(void *ctx, struct task_struct *child)
{
	__u32 tgid = BPF_CORE_READ(child, tgid);
	struct event *event;

	if (BPF_CORE_READ(child, pid) != tgid)
		return;
	event = event_begin(EVENT_FORK);
	if (!event)
		return;
	event->facts.fork.child = tgid;
	event_end(ctx, event);
}

SEC("fentry/wake_up_new_task")
int BPF_PROG(fork_fentry, struct task_struct *child)
{
	report_fork(ctx, child);
	return 0;
}

ON_KPROBE(fork, wake_up_new_task, report_fork(ctx, child), struct task_struct *child)

SEC("tp_btf/sched_process_fork")
int BPF_PROG(fork_done, struct task_struct *parent, struct task_struct *child)
{
	report_fork(ctx, child);
	return 0;
}

/* The process ends with its last thread, which alone knows it (`last`): by the time of any other look,
 * threads that end together have all been counted off. */
static __always_inline void report_exit(void *ctx, struct task_struct *task, bool last)
{
	struct task_struct___more *more = (void *)task;
	struct event *event;
	__s32 code;

	if (!last)
		return;
	event = event_begin(EVENT_EXIT);
	if (!event)
		return;
	code = BPF_CORE_READ(more, signal, group_exit_code);
	event->facts.exit.code = code ? code : BPF_CORE_READ(more, exit_code);
	event_end(ctx, event);
}

SEC("fentry/taskstats_exit")
int BPF_PROG(exit_fentry, struct task_struct *task, int last)
{
	report_exit(ctx, task, last);
	return 0;
}

ON_KPROBE(exit, taskstats_exit, report_exit(ctx, task, last), struct task_struct *task, int last)

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exit_done, struct task_struct *task, bool last)
{
	report_exit(ctx, task, last);
	return 0;
}

/* Before the tracepoint said so: the thread that is the process's first. Others may outlive it. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(exit_first_thread, struct task_struct *task)
{
	report_exit(ctx, task, task->pid == task->tgid);
	return 0;
}

#endif
