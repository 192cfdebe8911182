// SPDX-License-Identifier: MIT
/* Reader of sched_switch_cores.bpf.c: a word of shared memory for each CPU, no system call. */
#include "core_table.h"
#include "loader.h"
#include "sched_switch_cores.h"

EMBED_BPF_OBJECT("sched_switch_cores");

static struct bpf_object *object;
static struct bpf_program *program;
static const struct core_record *records;
static struct core_facts facts;

static uint64_t scrape(void)
{
	uint64_t at_ns = monotonic_ns();

	core_facts_begin(&facts, at_ns);
	for (uint32_t cpu = 0; cpu < facts.count; cpu++) {
		int64_t active = __atomic_load_n(&records[cpu].active, __ATOMIC_RELAXED);

		if (active < 0) /* it runs a task: up to now */
			active += monotonic_ns();
		core_facts_set(&facts, cpu, active);
	}
	if (core_table_wants_online())
		core_facts_read_online(&facts);
	core_table_show(&facts);
	return at_ns;
}

static void load(uint32_t cpus)
{
	bool second = loader_prev_state_is_second();

	object = open_embedded();
	program = loader_program(object, second ? "sched_switch_5_18" : "sched_switch");
	bpf_program__set_autoload(
		loader_program(object, second ? "sched_switch" : "sched_switch_5_18"), false);
	bpf_map__set_max_entries(loader_map(object, "cores"), cpus);
	loader_load(object);
}

static void open_cores(void)
{
	uint32_t cpus = loader_possible_cpus(NULL, 0);
	struct bpf_program *seed;

	load(cpus);
	records = loader_mmap(loader_map(object, "cores"), false);
	core_facts_open(&facts, cpus);
	loader_attach(program);
	seed = loader_program(object, "seed");
	for (uint32_t cpu = 0; cpu < cpus; cpu++)
		loader_run(seed, cpu); /* fails for CPUs that are offline */
	bpf_program__unload(seed);
}

static void dump(FILE *out)
{
	core_facts_dump(&facts, out);
}

static void count(struct collector_counts *counts)
{
	counts->records = facts.count;
	counts->lost = 0;
	counts->missed = 0;
	counts->clamped = facts.clamped;
	for (uint32_t cpu = 0; cpu < facts.count; cpu++)
		counts->missed += records[cpu].missed;
	counts->recursion_misses = loader_recursion_misses(program);
}

static void close_cores(void)
{
	bpf_object__close(object);
}

int main(int argc, char **argv)
{
	static const struct collector cores = {
		.name = "sched_switch_cores",
		.open = open_cores,
		.scrape = scrape,
		.dump = dump,
		.count = count,
		.close = close_cores,
	};

	return core_table_main(argc, argv, &cores);
}
