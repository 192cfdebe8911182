// SPDX-License-Identifier: MIT
/* The source's reader: once a second a look-up for each CPU. */
#include <bpf/bpf.h>

#include "core_table.h"
#include "loader.h"
#include "sched_switch_cores_published.h"

EMBED_BPF_OBJECT("sched_switch_cores_published");

static struct bpf_object *object;
static struct bpf_program *program;
static struct core_facts facts;
static int map_fd;

static uint64_t scrape(void)
{
	uint64_t at_ns = monotonic_ns();

	core_facts_begin(&facts, at_ns);
	for (uint32_t cpu = 0; cpu < facts.count; cpu++) {
		struct published_core core;

		if (!bpf_map_lookup_elem(map_fd, &cpu, &core))
			core_facts_set(&facts, cpu, core.active);
	}
	if (core_table_wants_online())
		core_facts_read_online(&facts);
	core_table_show(&facts);
	return at_ns;
}

static void open_published(void)
{
	uint32_t cpus = loader_possible_cpus(NULL, 0);

	loader_need_tracefs();
	object = open_embedded();
	bpf_map__set_max_entries(loader_map(object, "cores"), cpus);
	loader_load(object);
	program = loader_program(object, "published");
	map_fd = bpf_map__fd(loader_map(object, "cores"));
	core_facts_open(&facts, cpus);
	loader_attach(program);
}

static void dump(FILE *out)
{
	core_facts_dump(&facts, out);
}

static void count(struct collector_counts *counts)
{
	counts->records = facts.count;
	counts->clamped = facts.clamped;
	counts->recursion_misses = loader_recursion_misses(program);
}

static void close_published(void)
{
	bpf_object__close(object);
}

int main(int argc, char **argv)
{
	static const struct collector published = {
		.name = "sched_switch_cores_published",
		.open = open_published,
		.scrape = scrape,
		.dump = dump,
		.count = count,
		.close = close_published,
	};

	return core_table_main(argc, argv, &published);
}
