// SPDX-License-Identifier: MIT
/*
 * The article's reader: list all keys, then look up and delete one by one. What a task runs between
 * the look-up and the deletion is lost; that is part of what is being reproduced.
 */
#include <bpf/bpf.h>

#include "loader.h"
#include "processes.h"
#include "sched_switch_published.h"

EMBED_BPF_OBJECT("sched_switch_published");

static struct bpf_object *object;

static struct process_facts facts = {.idle_ns = -1};
static struct bpf_program *program;
static int map_fd;

static uint64_t scrape(void)
{
	static uint32_t pids[PUBLISHED_ENTRIES];
	uint64_t at_ns = monotonic_ns(), ran;
	uint32_t *previous = NULL;
	size_t length = 0;

	while (length < PUBLISHED_ENTRIES && !bpf_map_get_next_key(map_fd, previous, &pids[length]))
		previous = &pids[length++];
	facts.length = 0;
	for (size_t i = 0; i < length; i++) {
		if (!bpf_map_lookup_elem(map_fd, &pids[i], &ran)) {
			struct process_fact *fact = process_facts_add(&facts);

			fact->pid = pids[i];
			fact->start_ticks = NO_START;
			fact->cpu_ns = ran;
		}
		bpf_map_delete_elem(map_fd, &pids[i]);
	}
	return at_ns;
}

static void open_published(void)
{
	loader_need_initial_pid_namespace();
	loader_need_tracefs();
	object = open_embedded();
	loader_load(object);
	program = loader_program(object, "published");
	map_fd = bpf_map__fd(loader_map(object, "cpu_ns"));
	loader_attach(program);
}

static void dump(FILE *out)
{
	process_facts_dump(&facts, out);
}

static void count(struct collector_counts *counts)
{
	counts->records = facts.length;
	counts->recursion_misses = loader_recursion_misses(program);
}

static void close_published(void)
{
	bpf_object__close(object);
}

int main(int argc, char **argv)
{
	static const struct collector published = {
		.name = "sched_switch_published",
		.open = open_published,
		.scrape = scrape,
		.dump = dump,
		.count = count,
		.close = close_published,
	};

	return collector_main(argc, argv, &published);
}
