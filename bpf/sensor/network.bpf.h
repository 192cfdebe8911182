/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Sockets that are made, bound, and connected from either side. */
#ifndef PROBETAX_SENSOR_NETWORK_H
#define PROBETAX_SENSOR_NETWORK_H

#include <bpf/bpf_endian.h>

#include "paths.bpf.h"

#define UNIX_ROOM 108 /* of the name of a local socket, which need not end with a NUL */

/* As a caller hands it over: struct sockaddr_in or sockaddr_in6, as far as both go. */
struct socket_address {
	__u16 family;
	__u16 port;
	__u32 address; /* of IPv6 the flow label */
	__u8 address6[16];
};

static __always_inline long read_from(void *to, __u32 size, const void *from, const bool user)
{
	return user ? bpf_probe_read_user(to, size, from) : bpf_probe_read_kernel(to, size, from);
}

/* An abstract name begins with a NUL, and its length says where it ends. */
static __always_inline void report_local(void *ctx, __u16 kind, const void *address, int length,
					 const bool user)
{
	struct event_with_path *event = path_event_begin(kind);
	__u32 size = length - 2;

	if (!event)
		return;
	event->head.facts.peer.family = AF_UNIX;
	if (length < 2)
		size = 0;
	if (size > UNIX_ROOM)
		size = UNIX_ROOM;
	if (read_from(event->path.bytes, size, address + 2, user)) {
		path_event_end(ctx, event, text_end(&event->path, 0));
		return;
	}
	event->path.bytes[size & (PATH_ROOM - 1)] = 0;
	path_event_end(ctx, event, text_end(&event->path, size + 1));
}

static __always_inline void set_peer(struct endpoint *peer, __u16 family, __u16 port,
				     __u16 local_port)
{
	__builtin_memset(peer, 0, sizeof(*peer));
	peer->family = family;
	peer->port = bpf_ntohs(port);
	peer->local_port = local_port;
}

static __always_inline void report_address(void *ctx, __u16 kind, const void *address, int length,
					   const bool user)
{
	struct socket_address given = {};
	struct event *event;
	__u32 size = length < 0 ? 0 : length;

	if (is_own())
		return;
	if (size > sizeof(given))
		size = sizeof(given);
	if (read_from(&given, size, address, user))
		given.family = 0;
	if (given.family == AF_UNIX) {
		report_local(ctx, kind, address, length, user);
		return;
	}
	event = event_begin(kind);
	if (!event)
		return;
	if (given.family != AF_INET && given.family != AF_INET6)
		given.port = 0;
	set_peer(&event->facts.peer, given.family, given.port, 0);
	if (given.family == AF_INET)
		__builtin_memcpy(event->facts.peer.address, &given.address, sizeof(given.address));
	else if (given.family == AF_INET6)
		__builtin_memcpy(event->facts.peer.address, given.address6, sizeof(given.address6));
	event_end(ctx, event);
}

ON_SECURITY(connect, socket_connect, security_socket_connect,
	    report_address(ctx, EVENT_CONNECT, address, length, false), struct socket *socket,
	    void *address, int length)
ON_SYSCALL(enter, connect,
	   report_address(ctx, EVENT_CONNECT, (void *)ctx->args[1], ctx->args[2], true))

ON_SECURITY(bind, socket_bind, security_socket_bind,
	    report_address(ctx, EVENT_BIND, address, length, false), struct socket *socket,
	    void *address, int length)
ON_SYSCALL(enter, bind, report_address(ctx, EVENT_BIND, (void *)ctx->args[1], ctx->args[2], true))

/* Both ends of a connected socket. */
static __always_inline void set_peer_of(struct endpoint *peer, const struct sock *sk)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);

	if (family != AF_INET && family != AF_INET6) {
		set_peer(peer, family, 0, 0);
		return;
	}
	set_peer(peer, family, BPF_CORE_READ(sk, __sk_common.skc_dport),
		 BPF_CORE_READ(sk, __sk_common.skc_num));
	if (family == AF_INET)
		bpf_core_read(peer->address, sizeof(__u32), &sk->__sk_common.skc_daddr);
	else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr))
		bpf_core_read(peer->address, sizeof(peer->address), &sk->__sk_common.skc_v6_daddr);
}

static __always_inline void report_accept(void *ctx, const struct sock *sk)
{
	struct event *event = event_begin(EVENT_ACCEPT);

	if (!event)
		return;
	set_peer_of(&event->facts.peer, sk);
	event_end(ctx, event);
}

/* security_socket_accept() runs before there is anything to accept, and once for each try. This one
 * runs once the connection is there, while it is given its socket. */
ON_SECURITY(accept, sock_graft, security_sock_graft, report_accept(ctx, sk), struct sock *sk,
	    struct socket *parent)

static __always_inline int report_accepted(struct trace_event_raw_sys_exit *ctx)
{
	struct socket *socket;
	struct file *file;

	if (ctx->ret < 0)
		return 0;
	file = file_of(ctx->ret);
	socket = BPF_CORE_READ(file, private_data);
	report_accept(ctx, BPF_CORE_READ(socket, sk));
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_accept4")
int exit_accept4(struct trace_event_raw_sys_exit *ctx)
{
	return report_accepted(ctx);
}

SEC("tracepoint/syscalls/sys_exit_accept")
int exit_accept(struct trace_event_raw_sys_exit *ctx)
{
	return report_accepted(ctx);
}

/* Of the version 2 hierarchy's root, so for every task; 1 lets the socket be. */
SEC("cgroup/sock_create")
int sock_create(struct bpf_sock *ctx)
{
	struct event *event = event_begin(EVENT_SOCK_CREATE);

	if (!event)
		return 1;
	event->facts.socket.family = ctx->family;
	event->facts.socket.type = ctx->type;
	event->facts.socket.protocol = ctx->protocol;
	event_end(ctx, event);
	return 1;
}

#endif
