// SPDX-License-Identifier: MIT
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "snapshot.h"
#include "snapshot_reader.h"

#define TRIES 1000

void snapshot_set_cpus(struct bpf_object *object)
{
	static uint64_t possible[MAX_CPUS / 64];
	uint32_t ids = loader_possible_cpus(possible, MAX_CPUS);

	loader_set_constant(object, "cpu_ids", &ids, sizeof(ids));
	loader_set_constant(object, "possible_cpus", possible, sizeof(possible));
}

uint64_t snapshot_read(int map_fd, struct gauge_facts *facts)
{
	static uint64_t page;
	struct snapshot copy;
	uint32_t zero = 0;

	if (!page)
		page = sysconf(_SC_PAGESIZE);
	for (int i = 0; i < TRIES; i++) {
		if (bpf_map_lookup_elem(map_fd, &zero, &copy))
			collector_exit(EXIT_FAILED, "snapshots: %s", strerror(errno));
		if (copy.finished != copy.started)
			continue;
		gauge_facts_set_cpu(facts, (const uint64_t *)copy.cpu_ns);
		facts->total_bytes = copy.total_pages * page;
		facts->free_bytes = copy.free_pages * page;
		return copy.kernel_ns;
	}
	collector_exit(EXIT_FAILED, "no whole snapshot in %d reads", TRIES);
}
