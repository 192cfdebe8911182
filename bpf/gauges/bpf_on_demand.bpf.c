// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The same snapshot as bpf_timer's, taken when and only when the reader asks for it. */
#include "snapshot.bpf.h"

SEC("syscall")
int read_now(void *context)
{
	take_snapshot();
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
