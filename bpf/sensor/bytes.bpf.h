/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Bytes over TCP: an event for each message, or a sum for each socket.
 *
 * A sum is taken out of its place by an exchange, at the tick by the reader's program and at the end by
 * the one that sees the socket close: what is added meanwhile stays for the next time, so that nothing
 * is lost and nothing reported twice.
 */
#ifndef PROBETAX_SENSOR_BYTES_H
#define PROBETAX_SENSOR_BYTES_H

#include "network.bpf.h"

const volatile bool aggregate;

struct socket_bytes {
	__u64 sent, received;
	__u32 sends, receives;
	__u32 seen;	/* the position up to which received bytes are counted */
	__u32 position; /* whether `seen` is known */
	__u32 listed;	/* whether it stands in the queue */
	__u32 fence;
	__u64 cgroup; /* who used it first */
	__u32 tgid, tid, uid;
	char comm[COMM_ROOM];
	struct endpoint peer;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load */
	__type(key, __u64);	/* the socket's address */
	__type(value, struct socket_bytes);
} sockets SEC(".maps");

/* Those with something to report, so that a tick need not go through all of them. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1); /* set at load */
	__type(value, __u64);
} active SEC(".maps");

static __always_inline void set_owner(struct socket_bytes *bytes, struct sock *sk)
{
	__u64 ids = bpf_get_current_pid_tgid();

	bytes->cgroup = bpf_get_current_cgroup_id();
	bytes->tgid = ids >> 32;
	bytes->tid = (__u32)ids;
	bytes->uid = (__u32)bpf_get_current_uid_gid();
	bpf_get_current_comm(bytes->comm, sizeof(bytes->comm));
	set_peer_of(&bytes->peer, sk);
}

/* The socket's place; NULL: no room for one. */
static __always_inline struct socket_bytes *bytes_of(struct sock *sk)
{
	__u64 key = (__u64)sk;
	struct socket_bytes *bytes = bpf_map_lookup_elem(&sockets, &key), fresh = {};

	if (bytes)
		return bytes;
	set_owner(&fresh, sk);
	bpf_map_update_elem(&sockets, &key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sockets, &key);
}

/* Into the queue, unless it stands there. Before, the sum has been added to, and the queue's reader
 * clears the mark before it looks at the sum: so one of the two sees the other. A full queue leaves the
 * sum for the next message, or for the end of the socket. */
static __always_inline void list(struct socket_bytes *bytes, struct sock *sk)
{
	__u64 key = (__u64)sk;

	order_stores(&bytes->fence);
	if (READ_ONCE(bytes->listed) || __sync_lock_test_and_set(&bytes->listed, 1))
		return;
	if (bpf_map_push_elem(&active, &key, 0))
		WRITE_ONCE(bytes->listed, 0);
}

/* The event of a sum, not filled in as the others are: the current task need not be the owner. */
static __always_inline bool send_flow(void *ctx, struct socket_bytes *bytes, __u16 flags)
{
	struct event *event;
	struct flow *flow;

	if (!(bytes->sent | bytes->received | bytes->sends | bytes->receives))
		return true;
	event = event_room(sizeof(*event));
	if (!event)
		return false;
	event->time_ns = bpf_ktime_get_ns();
	event->cgroup = bytes->cgroup;
	event->tgid = bytes->tgid;
	event->tid = bytes->tid;
	event->uid = bytes->uid;
	event->kind = EVENT_FLOW;
	event->flags = flags;
	__builtin_memcpy(event->comm, bytes->comm, sizeof(event->comm));
	flow = &event->facts.flow;
	flow->peer = bytes->peer;
	flow->sent = __sync_lock_test_and_set(&bytes->sent, 0);
	flow->received = __sync_lock_test_and_set(&bytes->received, 0);
	flow->sends = __sync_lock_test_and_set(&bytes->sends, 0);
	flow->receives = __sync_lock_test_and_set(&bytes->receives, 0);
	if (!to_perf) {
		event_send(ctx, event, sizeof(*event));
		return true;
	}
	if (!scratch_send(ctx, scratch_of(event), sizeof(*event))) {
		scratch_release(scratch_of(event));
		return true;
	}
	/* back to where it was, for another time */
	__sync_fetch_and_add(&bytes->sent, flow->sent);
	__sync_fetch_and_add(&bytes->received, flow->received);
	__sync_fetch_and_add(&bytes->sends, flow->sends);
	__sync_fetch_and_add(&bytes->receives, flow->receives);
	scratch_release(scratch_of(event));
	return false;
}

static __always_inline void report_message(void *ctx, struct sock *sk, __u64 length, __u16 kind)
{
	struct event *event = event_begin(kind);

	if (!event)
		return;
	event->facts.message.bytes = length;
	set_peer_of(&event->facts.message.peer, sk);
	event_end(ctx, event);
}

static __always_inline void add(struct socket_bytes *bytes, __u64 length, __u16 kind)
{
	if (kind == EVENT_TCP_SENDMSG) {
		__sync_fetch_and_add(&bytes->sent, length);
		__sync_fetch_and_add(&bytes->sends, 1);
	} else {
		__sync_fetch_and_add(&bytes->received, length);
		__sync_fetch_and_add(&bytes->receives, 1);
	}
}

/* What is read of a socket after its end is in nobody's sum any more. */
static __always_inline void add_late(void *ctx, struct sock *sk, __u64 length, __u16 kind)
{
	struct socket_bytes rest = {};

	set_owner(&rest, sk);
	add(&rest, length, kind);
	if (!send_flow(ctx, &rest, EVENT_ENDED))
		COUNT(lost);
}

static __always_inline void report_bytes(void *ctx, struct sock *sk, __u64 length, __u16 kind,
					 const bool direct)
{
	struct socket_bytes *bytes;

	if (!aggregate) {
		report_message(ctx, sk, length, kind);
		return;
	}
	if (FIELD(direct, sk, __sk_common.skc_state) == TCP_CLOSE) {
		add_late(ctx, sk, length, kind);
		return;
	}
	bytes = bytes_of(sk);
	if (!bytes) {
		COUNT(lost);
		return;
	}
	add(bytes, length, kind);
	list(bytes, sk);
}

SEC("fexit/tcp_sendmsg")
int BPF_PROG(send_fexit, struct sock *sk, void *message, __u64 size, int sent)
{
	if (sent > 0 && !is_own())
		report_bytes(ctx, sk, sent, EVENT_TCP_SENDMSG, true);
	return 0;
}

/* At its entry: what is to be sent, which may be more than what will be. */
ON_KPROBE(send, tcp_sendmsg,
	  if (size && !is_own()) report_bytes(ctx, sk, size, EVENT_TCP_SENDMSG, false),
	  struct sock *sk, void *message, __u64 size)

static __always_inline bool is_tcp(struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_TCP &&
	       (sk->__sk_common.skc_family == AF_INET || sk->__sk_common.skc_family == AF_INET6);
}

/* For every kind of socket, with what the call returned. */
SEC("tp_btf/sock_send_length")
int BPF_PROG(send_length, struct sock *sk, int sent)
{
	if (sent > 0 && is_tcp(sk) && !is_own())
		report_bytes(ctx, sk, sent, EVENT_TCP_SENDMSG, true);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(receive_length, struct sock *sk, int received, int flags)
{
	if (received > 0 && !(flags & (MSG_PEEK | MSG_ERRQUEUE)) && is_tcp(sk) && !is_own())
		report_bytes(ctx, sk, received, EVENT_TCP_CLEANUP_RBUF, true);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(socket_closed, struct sock *sk, int before, int state)
{
	struct socket_bytes *bytes;
	__u64 key = (__u64)sk;

	if (state != TCP_CLOSE)
		return 0;
	bytes = bpf_map_lookup_elem(&sockets, &key);
	if (!bytes)
		return 0;
	if (!send_flow(ctx, bytes, EVENT_ENDED))
		COUNT(lost);
	bpf_map_delete_elem(&sockets, &key);
	return 0;
}

/* Run by the reader at each tick, until the queue is empty. A sum that finds no room in the buffer goes
 * back into the queue. A socket that has ended leaves its place in the queue behind. */
SEC("raw_tp")
int take_sums(void *ctx)
{
	struct socket_bytes *bytes;
	__u64 key;

	for (int i = 0; i < SUMS_AT_ONCE; i++) {
		if (bpf_map_pop_elem(&active, &key))
			return SUMS_DONE;
		bytes = bpf_map_lookup_elem(&sockets, &key);
		if (!bytes)
			continue;
		__sync_lock_test_and_set(&bytes->listed, 0);
		if (!send_flow(ctx, bytes, 0)) {
			list(bytes, (struct sock *)key);
			return SUMS_NO_ROOM;
		}
	}
	return SUMS_MORE;
}

#endif
