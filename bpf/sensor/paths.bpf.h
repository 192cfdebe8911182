/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Where a path comes from: the caller's memory, the kernel's, or the tree of directory entries. */
#ifndef PROBETAX_SENSOR_PATHS_H
#define PROBETAX_SENSOR_PATHS_H

#include "emit.bpf.h"

#define WALK_DEPTH   32 /* components and mounts from a file up to the root */
#define ENAMETOOLONG 36

/* The path set: what begins with an entry is inside. An entry that is to be matched whole has the NUL
 * at its end, as every path that was not cut off. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set at load */
	__type(key, struct path_text);
	__type(value, __u8);
} paths SEC(".maps");

static __always_inline bool in_path_set(struct path_text *text)
{
	return bpf_map_lookup_elem(&paths, text);
}

/* Sets the length by what a helper returned: bytes with the NUL, or an error. Event flags. */
static __always_inline __u16 text_end(struct path_text *text, long got)
{
	if (got <= 0) {
		text->bytes[0] = 0;
		text->bits = 8;
		return EVENT_UNREAD;
	}
	if (got >= PATH_ROOM) {
		text->bits = 8 * (PATH_ROOM - 1);
		return EVENT_TRUNCATED;
	}
	text->bits = 8 * got;
	return 0;
}

static __always_inline __u16 path_of_user(struct path_text *text, const void *from)
{
	return text_end(text, bpf_probe_read_user_str(text->bytes, PATH_ROOM, from));
}

static __always_inline __u16 path_of_kernel(struct path_text *text, const void *from)
{
	return text_end(text, bpf_probe_read_kernel_str(text->bytes, PATH_ROOM, from));
}

/* From the entry up to the root of the mount namespace, across mounts, written from the right. */
static __always_inline __u16 walk(char *room, struct path_text *text, struct vfsmount *vfsmount,
				  struct dentry *dentry)
{
	struct mount *mount = (void *)vfsmount - bpf_core_field_offset(struct mount, mnt);
	__u32 at = WALK_ROOM - 1, length;
	bool complete = false;
	__u16 flags;

	room[at] = 0;
	for (int i = 0; i < WALK_DEPTH; i++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);

		if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
			struct mount *below = BPF_CORE_READ(mount, mnt_parent);

			if (below == mount || !below) {
				complete = true;
				break;
			}
			dentry = BPF_CORE_READ(mount, mnt_mountpoint);
			mount = below;
			continue;
		}
		if (dentry == parent || !parent)
			break; /* not below any root: of a file system that is nowhere mounted */
		length = BPF_CORE_READ(dentry, d_name.len) & (NAME_ROOM - 1);
		if (at < length + 1)
			break;
		at -= length + 1;
		barrier_var(at); /* the verifier needs the mask that a compiler finds superfluous */
		at &= WALK_ROOM - 1;
		room[at] = '/';
		bpf_probe_read_kernel(&room[at + 1], length, BPF_CORE_READ(dentry, d_name.name));
		dentry = parent;
	}
	if (at == WALK_ROOM - 1) { /* the root itself */
		at--;
		room[at] = '/';
	}
	flags = text_end(text, bpf_probe_read_kernel_str(text->bytes, PATH_ROOM, &room[at]));
	return complete ? flags : flags | EVENT_TRUNCATED;
}

static __always_inline __u16 path_of_entry(struct path_text *text, struct vfsmount *mount,
					   struct dentry *dentry)
{
	struct scratch *scratch = scratch_claim();
	__u16 flags;

	if (!scratch)
		return text_end(text, 0);
	flags = walk(scratch->walk, text, mount, dentry);
	scratch_release(scratch);
	return flags;
}

static __always_inline __u16 path_of(struct path_text *text, const struct path *path)
{
	return path_of_entry(text, BPF_CORE_READ(path, mnt), BPF_CORE_READ(path, dentry));
}

static __always_inline __u16 path_of_file(struct path_text *text, struct file *file)
{
	return path_of_entry(text, BPF_CORE_READ(file, f_path.mnt),
			     BPF_CORE_READ(file, f_path.dentry));
}

/* By the kernel's own function, which only few programs may call. It wants room for all of the path. */
static __always_inline __u16 path_of_opened(struct path_text *text, struct file *file)
{
	long got = bpf_d_path(&file->f_path, text->bytes, PATH_ROOM);
	struct scratch *scratch;

	if (got != -ENAMETOOLONG)
		return text_end(text, got);
	scratch = scratch_claim();
	if (!scratch)
		return text_end(text, 0);
	got = bpf_d_path(&file->f_path, scratch->walk, WALK_ROOM);
	if (got > 0)
		got = bpf_probe_read_kernel_str(text->bytes, PATH_ROOM, scratch->walk);
	scratch_release(scratch);
	return text_end(text, got);
}

/* What the current task has open under a number; NULL: nothing. */
static __always_inline struct file *file_of(__u32 number)
{
	struct task_struct___more *task = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **list = BPF_CORE_READ(table, fd), *file = NULL;

	if (number >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), list + number);
	return file;
}

#endif
