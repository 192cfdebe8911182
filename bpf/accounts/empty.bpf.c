// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Programs that do nothing, one for each event that a workload can count out: what is left of a
 * program's cost when its body is taken away. BTF tracepoints where the event has one; the kernel
 * offers its system calls one by one only as perf tracepoints. On sched_switch there is one of each,
 * since collectors are attached in either way and the way is most of what an empty program costs.
 */
#include "kernel.h"

SEC("tp_btf/sched_switch")
int on_switch(void *context)
{
	return 0;
}

SEC("tracepoint/sched/sched_switch")
int on_switch_perf(void *context)
{
	return 0;
}

SEC("tp_btf/sched_process_exec")
int on_exec(void *context)
{
	return 0;
}

SEC("tracepoint/syscalls/sys_enter_openat")
int on_open(void *context)
{
	return 0;
}

SEC("tracepoint/syscalls/sys_enter_sendto")
int on_send(void *context)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
