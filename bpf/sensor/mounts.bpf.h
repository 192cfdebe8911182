/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What is mounted, where, and what is taken away again. */
#ifndef PROBETAX_SENSOR_MOUNTS_H
#define PROBETAX_SENSOR_MOUNTS_H

#include "paths.bpf.h"

static __always_inline void type_of_kernel(struct event *event, const char *type)
{
	if (bpf_probe_read_kernel_str(event->facts.mount.type, TYPE_ROOM, type) < 0)
		event->facts.mount.type[0] = 0;
}

static __always_inline void report_mount(void *ctx, const char *source, const struct path *target,
					 const char *type, __u64 how)
{
	struct event_with_two_paths *event = two_paths_begin(EVENT_MOUNT);
	__u16 flags;

	if (!event)
		return;
	event->head.facts.mount.flags = how;
	type_of_kernel(&event->head, type);
	flags = path_of(&event->path, target);
	/* a remount has no source, and some file systems need none */
	if (source)
		flags |= path_of_kernel(&event->second, source);
	else
		text_end(&event->second, 0);
	two_paths_end(ctx, event, flags);
}

ON_SECURITY(mount, sb_mount, security_sb_mount, report_mount(ctx, source, target, type, how),
	    const char *source, const struct path *target, const char *type, unsigned long how)

static __always_inline void report_mount_by_name(void *ctx, const void *source, const void *target,
						 const void *type, __u64 how)
{
	struct event_with_two_paths *event = two_paths_begin(EVENT_MOUNT);
	__u16 flags;

	if (!event)
		return;
	event->head.facts.mount.flags = how;
	if (bpf_probe_read_user_str(event->head.facts.mount.type, TYPE_ROOM, type) < 0)
		event->head.facts.mount.type[0] = 0;
	flags = path_of_user(&event->path, target);
	if (source)
		flags |= path_of_user(&event->second, source);
	else
		text_end(&event->second, 0);
	two_paths_end(ctx, event, flags);
}

ON_SYSCALL(enter, mount,
	   report_mount_by_name(ctx, (void *)ctx->args[0], (void *)ctx->args[1],
				(void *)ctx->args[2], ctx->args[3]))

/* The newer way: a mount made apart, or an old one, is moved to its place. */
static __always_inline void report_move(void *ctx, const struct path *from, const struct path *to)
{
	struct event_with_two_paths *event = two_paths_begin(EVENT_MOUNT);
	__u16 flags;

	if (!event)
		return;
	event->head.facts.mount.flags = 0;
	event->head.facts.mount.type[0] = 0;
	flags = path_of(&event->path, to);
	/* what was made apart is nowhere yet */
	path_of(&event->second, from);
	two_paths_end(ctx, event, flags);
}

ON_SECURITY(move_mount, move_mount, security_move_mount, report_move(ctx, from, to),
	    const struct path *from, const struct path *to)
ON_SYSCALL(enter, move_mount,
	   report_mount_by_name(ctx, (void *)ctx->args[1], (void *)ctx->args[3], NULL, 0))

static __always_inline void report_umount(void *ctx, struct vfsmount *mount, __u64 how)
{
	struct event_with_path *event = path_event_begin(EVENT_UMOUNT);

	if (!event)
		return;
	event->head.facts.mount.flags = how;
	path_event_end(ctx, event,
		       path_of_entry(&event->path, mount, BPF_CORE_READ(mount, mnt_root)));
}

static __always_inline void report_umount_by_name(void *ctx, const void *name, __u64 how)
{
	struct event_with_path *event = path_event_begin(EVENT_UMOUNT);

	if (!event)
		return;
	event->head.facts.mount.flags = how;
	path_event_end(ctx, event, path_of_user(&event->path, name));
}

ON_SECURITY(umount, sb_umount, security_sb_umount, report_umount(ctx, mount, how),
	    struct vfsmount *mount, int how)
ON_SYSCALL(enter, umount, report_umount_by_name(ctx, (void *)ctx->args[0], ctx->args[1]))

#endif
