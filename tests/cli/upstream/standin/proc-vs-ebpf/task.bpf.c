/* Made for the test: a program on sched_switch that counts. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";
__u64 switches;

SEC("tracepoint/sched/sched_switch")
int on_switch(void *context)
{
	(void)context;
	switches++;
	return 0;
}
