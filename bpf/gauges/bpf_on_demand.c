// SPDX-License-Identifier: MIT
/* Reader of bpf_on_demand.bpf.c: each scrape runs the program itself, then looks up the result. */
#include <string.h>

#include "snapshot_reader.h"

EMBED_BPF_OBJECT("bpf_on_demand");

static struct bpf_object *object;

static struct gauge_facts facts;
static struct bpf_program *program;
static uint64_t kernel_ns;
static int map_fd;

static uint64_t scrape(void)
{
	uint64_t at_ns = monotonic_ns();
	int error = loader_run(program, -1);

	if (error)
		collector_exit(EXIT_FAILED, "running the program: %s",
			       strerror(error < 0 ? -error : error));
	kernel_ns = snapshot_read(map_fd, &facts);
	return at_ns;
}

static void open_on_demand(void)
{
	object = open_embedded();
	snapshot_set_cpus(object);
	loader_load(object);
	program = loader_program(object, "read_now");
	map_fd = bpf_map__fd(loader_map(object, "snapshots"));
}

static void dump(FILE *out)
{
	gauge_facts_dump(&facts, out);
}

static void count(struct collector_counts *counts)
{
	counts->records = 1;
	counts->clamped = facts.clamped;
	counts->kernel_ns = kernel_ns;
}

static void close_on_demand(void)
{
	bpf_object__close(object);
}

int main(int argc, char **argv)
{
	static const struct collector on_demand = {
		.name = "bpf_on_demand",
		.open = open_on_demand,
		.scrape = scrape,
		.dump = dump,
		.count = count,
		.close = close_on_demand,
	};

	return collector_main(argc, argv, &on_demand);
}
