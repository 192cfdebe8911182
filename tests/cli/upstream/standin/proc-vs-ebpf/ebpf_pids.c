/* Made for the test: reads its program's count, and asks the kernel for statistics as the clone does. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "common.h"
#include "task.skel.h"

int main(int argc, char **argv)
{
	unsigned long us = interval_us(argc, argv);
	struct task_bpf *skeleton = task_bpf__open_and_load();
	struct bpf_prog_info info = {0};
	__u32 length = sizeof(info);

	if (!skeleton || task_bpf__attach(skeleton)) {
		fprintf(stderr, "the stand-in's program does not attach\n");
		return 1;
	}
	if (bpf_enable_stats(BPF_STATS_RUN_TIME) >= 0)
		return 2; /* the build should have replaced it */
	bpf_prog_get_info_by_fd(bpf_program__fd(skeleton->progs.on_switch), &info, &length);
	while (!ended)
		usleep(us);
	task_bpf__destroy(skeleton);
	return 0;
}
