/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Files that are opened, removed, renamed and given other rights. */
#ifndef PROBETAX_SENSOR_FILES_H
#define PROBETAX_SENSOR_FILES_H

#include "paths.bpf.h"

const volatile bool filter_in_kernel;

enum opened_by { BY_D_PATH, BY_WALK, BY_NAME };

static __always_inline __u16 opened_path(struct path_text *text, const void *what,
					 const enum opened_by way)
{
	if (way == BY_NAME)
		return path_of_user(text, what);
	if (way == BY_WALK)
		return path_of_file(text, (struct file *)what);
	return path_of_opened(text, (struct file *)what);
}

static __always_inline void report_all_opened(void *ctx, const void *what, __u32 flags,
					      const enum opened_by way)
{
	struct event_with_path *event = path_event_begin(EVENT_FILE_OPEN);

	if (!event)
		return;
	event->head.facts.open.flags = flags;
	path_event_end(ctx, event, opened_path(&event->path, what, way));
}

/* Of the ring only what passes takes room: what is reserved and then discarded would stay in it until
 * the reader comes by, and nothing would wake it. So the path is made in scratch memory. */
static __always_inline void send_opened(void *ctx, struct scratch *scratch, __u32 flags,
					__u16 path_flags)
{
	const struct path_text *path = &scratch->event.path;
	struct event_with_path *event;

	if (to_perf) {
		event_fill(&scratch->event.head, EVENT_FILE_OPEN, EVENT_PATH | path_flags);
		scratch->event.head.facts.open.flags = flags;
		if (scratch_send(ctx, scratch, path_event_size(path)))
			COUNT(lost);
		return;
	}
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (!event) {
		COUNT(lost);
		return;
	}
	event_fill(&event->head, EVENT_FILE_OPEN, EVENT_PATH | path_flags);
	event->head.facts.open.flags = flags;
	__builtin_memcpy(&event->path, path, sizeof(event->path));
	bpf_ringbuf_submit(event, wakeup_flags());
}

static __always_inline void report_opened(void *ctx, const void *what, __u32 flags,
					  const enum opened_by way)
{
	struct scratch *scratch;
	__u16 path_flags;

	if (!filter_in_kernel) {
		report_all_opened(ctx, what, flags, way);
		return;
	}
	if (is_own())
		return;
	scratch = scratch_claim();
	if (!scratch) {
		COUNT(lost);
		return;
	}
	path_flags = opened_path(&scratch->event.path, what, way);
	/* what could not be read cannot be judged either: it is reported */
	if (path_flags & EVENT_UNREAD || in_path_set(&scratch->event.path))
		send_opened(ctx, scratch, flags, path_flags);
	else
		COUNT(kernel_filtered);
	scratch_release(scratch);
}

SEC("lsm/file_open")
int BPF_PROG(open_lsm, struct file *file)
{
	report_opened(ctx, file, file->f_flags, BY_D_PATH);
	return 0;
}

SEC("fentry/security_file_open")
int BPF_PROG(open_fentry, struct file *file)
{
	report_opened(ctx, file, file->f_flags, BY_D_PATH);
	return 0;
}

ON_KPROBE(open, security_file_open, report_opened(ctx, file, BPF_CORE_READ(file, f_flags), BY_WALK),
	  struct file *file)

#define ON_OPEN(call, path, flags) \
	ON_SYSCALL(enter, call, report_opened(ctx, (void *)ctx->args[path], flags, BY_NAME))

/* openat2() has its flags in memory: the first word of what its third argument points to */
static __always_inline __u32 how_to_open(const void *how)
{
	__u64 flags = 0;

	bpf_probe_read_user(&flags, sizeof(flags), how);
	return flags;
}

ON_OPEN(openat, 1, ctx->args[2])
ON_OPEN(openat2, 1, how_to_open((void *)ctx->args[2]))
ON_OPEN(open, 0, ctx->args[1])
ON_OPEN(creat, 0, 01101) /* O_CREAT | O_WRONLY | O_TRUNC */

static __always_inline void report_unlink(void *ctx, const struct path *directory,
					  struct dentry *dentry, const void *name)
{
	struct event_with_path *event = path_event_begin(EVENT_UNLINK);
	__u16 flags;

	if (!event)
		return;
	flags = directory ? path_of_entry(&event->path, BPF_CORE_READ(directory, mnt), dentry)
			  : path_of_user(&event->path, name);
	path_event_end(ctx, event, flags);
}

ON_SECURITY(unlink, path_unlink, security_path_unlink, report_unlink(ctx, directory, dentry, NULL),
	    const struct path *directory, struct dentry *dentry)
ON_SYSCALL(enter, unlink, report_unlink(ctx, NULL, NULL, (void *)ctx->args[0]))
ON_SYSCALL(enter, unlinkat,
	   if (!(ctx->args[2] & AT_REMOVEDIR)) report_unlink(ctx, NULL, NULL, (void *)ctx->args[1]))

static __always_inline void report_rename(void *ctx, const struct path *from_directory,
					  struct dentry *from, const struct path *to_directory,
					  struct dentry *to, __u32 how)
{
	struct event_with_two_paths *event = two_paths_begin(EVENT_RENAME);
	__u16 flags;

	if (!event)
		return;
	event->head.facts.rename.flags = how;
	flags = path_of_entry(&event->path, BPF_CORE_READ(from_directory, mnt), from);
	flags |= path_of_entry(&event->second, BPF_CORE_READ(to_directory, mnt), to);
	two_paths_end(ctx, event, flags);
}

static __always_inline void report_rename_by_name(void *ctx, const void *from, const void *to,
						  __u32 how)
{
	struct event_with_two_paths *event = two_paths_begin(EVENT_RENAME);
	__u16 flags;

	if (!event)
		return;
	event->head.facts.rename.flags = how;
	flags = path_of_user(&event->path, from);
	flags |= path_of_user(&event->second, to);
	two_paths_end(ctx, event, flags);
}

ON_SECURITY(rename, path_rename, security_path_rename,
	    report_rename(ctx, from_directory, from, to_directory, to, how),
	    const struct path *from_directory, struct dentry *from, const struct path *to_directory,
	    struct dentry *to, unsigned int how)
ON_SYSCALL(enter, rename, report_rename_by_name(ctx, (void *)ctx->args[0], (void *)ctx->args[1], 0))
ON_SYSCALL(enter, renameat,
	   report_rename_by_name(ctx, (void *)ctx->args[1], (void *)ctx->args[3], 0))
ON_SYSCALL(enter, renameat2,
	   report_rename_by_name(ctx, (void *)ctx->args[1], (void *)ctx->args[3], ctx->args[4]))

static __always_inline void report_chmod(void *ctx, const struct path *path, __u32 mode)
{
	struct event_with_path *event = path_event_begin(EVENT_CHMOD);

	if (!event)
		return;
	event->head.facts.chmod.mode = mode;
	path_event_end(ctx, event, path_of(&event->path, path));
}

static __always_inline void report_chmod_by_name(void *ctx, const void *name, __u32 mode)
{
	struct event_with_path *event = path_event_begin(EVENT_CHMOD);

	if (!event)
		return;
	event->head.facts.chmod.mode = mode;
	path_event_end(ctx, event, path_of_user(&event->path, name));
}

static __always_inline void report_fchmod(void *ctx, __u32 number, __u32 mode)
{
	struct event_with_path *event = path_event_begin(EVENT_CHMOD);
	struct file *file;

	if (!event)
		return;
	event->head.facts.chmod.mode = mode;
	file = file_of(number);
	path_event_end(ctx, event,
		       file ? path_of_file(&event->path, file) : text_end(&event->path, 0));
}

ON_SECURITY(chmod, path_chmod, security_path_chmod, report_chmod(ctx, path, mode),
	    const struct path *path, __u16 mode)
ON_SYSCALL(enter, chmod, report_chmod_by_name(ctx, (void *)ctx->args[0], ctx->args[1]))
ON_SYSCALL(enter, fchmod, report_fchmod(ctx, ctx->args[0], ctx->args[1]))
ON_SYSCALL(enter, fchmodat, report_chmod_by_name(ctx, (void *)ctx->args[1], ctx->args[2]))
ON_SYSCALL(enter, fchmodat2, report_chmod_by_name(ctx, (void *)ctx->args[1], ctx->args[2]))

#endif
