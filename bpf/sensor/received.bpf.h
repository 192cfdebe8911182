/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Bytes that were read, where a call's own count has to be told from those of the calls before. */
#ifndef PROBETAX_SENSOR_RECEIVED_H
#define PROBETAX_SENSOR_RECEIVED_H

#include "bytes.bpf.h"

/* How far the application has read, an end that it has read as well left out. */
static __always_inline __u32 read_position(struct tcp_sock *tcp, __u8 state)
{
	__u32 position = BPF_CORE_READ(tcp, copied_seq);

	if ((state == TCP_CLOSE_WAIT || state == TCP_LAST_ACK || state == TCP_CLOSING) &&
	    position == BPF_CORE_READ(tcp, rcv_nxt))
		position--;
	return position;
}

/* `copied` is what one call has copied so far: it comes again as it grows, and for a look that takes
 * nothing away. The position in the stream says what is new; its socket is locked meanwhile. At the
 * first time it is compared with the beginning of the stream. */
static __always_inline void report_received(void *ctx, struct sock *sk, int copied,
					    const bool direct)
{
	struct tcp_sock *tcp = (void *)sk;
	__u32 position, length, begin;
	struct socket_bytes *bytes;

	if (copied <= 0 || is_own())
		return;
	position = read_position(tcp, FIELD(direct, sk, __sk_common.skc_state));
	bytes = bytes_of(sk);
	if (bytes && bytes->position) {
		length = position - bytes->seen;
	} else {
		begin = BPF_CORE_READ(tcp, rcv_nxt) - (__u32)BPF_CORE_READ(tcp, bytes_received);
		length = position - begin;
	}
	if (length > (__u32)copied)
		length = copied;
	if (bytes) {
		bytes->seen = position;
		bytes->position = 1;
	}
	if (length)
		report_bytes(ctx, sk, length, EVENT_TCP_CLEANUP_RBUF, direct);
}

SEC("fentry/tcp_cleanup_rbuf")
int BPF_PROG(receive_fentry, struct sock *sk, int copied)
{
	report_received(ctx, sk, copied, true);
	return 0;
}

ON_KPROBE(receive, tcp_cleanup_rbuf, report_received(ctx, sk, copied, false), struct sock *sk,
	  int copied)

#endif
