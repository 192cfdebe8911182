// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A kernel timer that takes a snapshot and arms itself again. It runs in a soft interrupt: neither
 * the reader's CPU time nor the kernel's BPF statistics see it, so it times itself.
 */
#include "snapshot.bpf.h"

const volatile __u64 interval_ns = 1000000000;

struct timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct timer);
} timers SEC(".maps");

static int on_timer(void *map, __u32 *key, struct timer *timer)
{
	bpf_timer_start(&timer->timer, interval_ns, 0);
	take_snapshot();
	return 0;
}

SEC("syscall")
int start(void *context)
{
	__u32 zero = 0;
	struct timer *timer = bpf_map_lookup_elem(&timers, &zero);
	long error;

	if (!timer)
		return 1;
	take_snapshot();
	error = bpf_timer_init(&timer->timer, &timers, CLOCK_MONOTONIC);
	if (!error)
		error = bpf_timer_set_callback(&timer->timer, on_timer);
	if (!error)
		error = bpf_timer_start(&timer->timer, interval_ns, 0);
	return error;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
