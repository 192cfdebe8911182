// SPDX-License-Identifier: MIT
/* Reader of bpf_timer.bpf.c: one map look-up a scrape. */
#include <string.h>

#include "snapshot_reader.h"

EMBED_BPF_OBJECT("bpf_timer");

static struct bpf_object *object;

static struct gauge_facts facts;
static uint64_t kernel_ns, baseline_ns;
static int map_fd;

static uint64_t scrape(void)
{
	uint64_t at_ns = monotonic_ns();

	kernel_ns = snapshot_read(map_fd, &facts);
	if (!baseline_ns) /* what starting the timer took is not part of any interval */
		baseline_ns = kernel_ns;
	return at_ns;
}

static void open_timer(void)
{
	uint64_t interval_ns = collector_interval_ns();
	int error;

	object = open_embedded();
	snapshot_set_cpus(object);
	loader_set_constant(object, "interval_ns", &interval_ns, sizeof(interval_ns));
	loader_load(object);
	map_fd = bpf_map__fd(loader_map(object, "snapshots"));
	error = loader_run(loader_program(object, "start"), -1);
	if (error)
		collector_exit(EXIT_UNAVAILABLE, "starting the kernel timer: %s",
			       strerror(error < 0 ? -error : error));
}

static void dump(FILE *out)
{
	gauge_facts_dump(&facts, out);
}

static void count(struct collector_counts *counts)
{
	counts->records = 1;
	counts->clamped = facts.clamped;
	counts->kernel_ns = kernel_ns - baseline_ns;
}

static void close_timer(void)
{
	bpf_object__close(object);
}

int main(int argc, char **argv)
{
	static const struct collector bpf_timer = {
		.name = "bpf_timer",
		.open = open_timer,
		.scrape = scrape,
		.dump = dump,
		.count = count,
		.close = close_timer,
	};

	return collector_main(argc, argv, &bpf_timer);
}
