/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * From a hook to the reader. An event is written where the reader will find it: into the room reserved
 * in the ring buffer. The perf buffer takes only what is complete, so for it events are written into
 * scratch memory and copied from there, as many bytes as they have.
 */
#ifndef PROBETAX_SENSOR_EMIT_H
#define PROBETAX_SENSOR_EMIT_H

#include "types.bpf.h"
#include "sensor.h"

#define SCRATCHES 8
#define WALK_ROOM 4096 /* a power of two: positions are kept inside by a mask */
#define NAME_ROOM 256  /* of one component */

const volatile __u32 own_tgid; /* the sensor does not report itself */
const volatile bool to_perf;
const volatile __u32 wakeup; /* enum wakeup; of the ring, a perf buffer has its own */
const volatile __u64 batch_bytes;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set at load */
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} perf SEC(".maps");

struct scratch {
	__u32 busy;
	struct event_with_two_paths event;
	char walk[WALK_ROOM + NAME_ROOM];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCHES);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sensor_counters);
} counters SEC(".maps");

/* Programs may interrupt each other on a CPU, hence atomic. */
#define COUNT(counter)                                                                \
	do {                                                                          \
		__u32 only = 0;                                                       \
		struct sensor_counters *mine = bpf_map_lookup_elem(&counters, &only); \
                                                                                      \
		if (mine)                                                             \
			__sync_fetch_and_add(&mine->counter, 1);                      \
	} while (0)

/* A program that holds scratch memory may be preempted by another one on its CPU, which may outlast it:
 * so they are taken one by one, not as a stack. */
static __always_inline struct scratch *scratch_claim(void)
{
	for (__u32 i = 0; i < SCRATCHES; i++) {
		__u32 index = i;
		struct scratch *scratch = bpf_map_lookup_elem(&scratches, &index);

		if (scratch && !__sync_lock_test_and_set(&scratch->busy, 1))
			return scratch;
	}
	return NULL;
}

static __always_inline void scratch_release(struct scratch *scratch)
{
	__sync_lock_test_and_set(&scratch->busy, 0);
}

static __always_inline struct scratch *scratch_of(struct event *event)
{
	return (void *)event - offsetof(struct scratch, event);
}

static __always_inline bool is_own(void)
{
	return bpf_get_current_pid_tgid() >> 32 == own_tgid;
}

/* Room for an event, or NULL; `size` is known to the compiler. Ends with event_send(). */
static __always_inline struct event *event_room(__u64 size)
{
	struct scratch *scratch;

	if (!to_perf)
		return bpf_ringbuf_reserve(&ring, size, 0);
	scratch = scratch_claim();
	return scratch ? &scratch->event.head : NULL;
}

static __always_inline __u64 wakeup_flags(void)
{
	if (wakeup == WAKEUP_EACH)
		return BPF_RB_FORCE_WAKEUP;
	if (wakeup == WAKEUP_TICK)
		return BPF_RB_NO_WAKEUP;
	if (wakeup == WAKEUP_BATCH)
		return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= batch_bytes
			       ? BPF_RB_FORCE_WAKEUP
			       : BPF_RB_NO_WAKEUP;
	return 0;
}

/* The first `size` bytes of scratch memory, of which the event is the first part. */
static __always_inline long scratch_send(void *ctx, struct scratch *scratch, __u64 size)
{
	return bpf_perf_event_output(ctx, &perf, BPF_F_CURRENT_CPU, &scratch->event, size & 1023);
}

/* 0, or an error if the event did not go out. A ring's event has its room already. */
static __always_inline long event_send(void *ctx, struct event *event, __u64 size)
{
	long error;

	if (!to_perf) {
		bpf_ringbuf_submit(event, wakeup_flags());
		return 0;
	}
	error = scratch_send(ctx, scratch_of(event), size);
	scratch_release(scratch_of(event));
	return error;
}

static __always_inline void event_fill(struct event *event, __u16 kind, __u16 flags)
{
	__u64 ids = bpf_get_current_pid_tgid();

	event->time_ns = bpf_ktime_get_ns();
	event->cgroup = bpf_get_current_cgroup_id();
	event->tgid = ids >> 32;
	event->tid = (__u32)ids;
	event->uid = (__u32)bpf_get_current_uid_gid();
	event->kind = kind;
	event->flags = flags;
	bpf_get_current_comm(event->comm, sizeof(event->comm));
}

/* An event of the current task, or NULL: it is the sensor's own, or counted as lost. */
static __always_inline void *begin(__u16 kind, __u16 flags, __u64 size)
{
	struct event *event;

	if (is_own())
		return NULL;
	event = event_room(size);
	if (!event) {
		COUNT(lost);
		return NULL;
	}
	event_fill(event, kind, flags);
	return event;
}

static __always_inline void end(void *ctx, struct event *event, __u16 flags, __u64 size)
{
	event->flags |= flags;
	if (event_send(ctx, event, size))
		COUNT(lost);
}

static __always_inline struct event *event_begin(__u16 kind)
{
	return begin(kind, 0, sizeof(struct event));
}

static __always_inline void event_end(void *ctx, struct event *event)
{
	end(ctx, event, 0, sizeof(*event));
}

/* With a path, which is to be filled in. */
static __always_inline struct event_with_path *path_event_begin(__u16 kind)
{
	return begin(kind, EVENT_PATH, sizeof(struct event_with_path));
}

static __always_inline __u64 path_event_size(const struct path_text *path)
{
	return offsetof(struct event_with_path, path.bytes) + (path->bits >> 3);
}

static __always_inline void path_event_end(void *ctx, struct event_with_path *event, __u16 flags)
{
	end(ctx, &event->head, flags, path_event_size(&event->path));
}

/* And with two. */
static __always_inline struct event_with_two_paths *two_paths_begin(__u16 kind)
{
	return begin(kind, EVENT_PATH | EVENT_SECOND, sizeof(struct event_with_two_paths));
}

static __always_inline void two_paths_end(void *ctx, struct event_with_two_paths *event,
					  __u16 flags)
{
	end(ctx, &event->head, flags, sizeof(*event));
}

#endif
