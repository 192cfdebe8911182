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
static uint64_t
	missed_before; /* a CPU that went idle between attachment and seeding seems to miss one */

static uint64_t missed(void)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < facts.count; cpu++)
		sum += records[cpu].missed;
	return sum;
}

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

static void open_with(const char *used, const char *spared, uint32_t cpus)
{
	object = open_embedded();
	program = loader_program(object, used);
	bpf_program__set_autoload(loader_program(object, spared), false);
	bpf_map__set_max_entries(loader_map(object, "cores"), cpus);
}

/* Few kernels have the other order of arguments, and to ask the kernel's type information first takes
 * as long as all the rest of starting: so the verifier is asked, and again for the other one. */
static void load(uint32_t cpus)
{
	open_with("sched_switch", "sched_switch_5_18", cpus);
	if (!bpf_object__load(object))
		return;
	bpf_object__close(object);
	if (loader_prev_state_is_second())
		open_with("sched_switch_5_18", "sched_switch", cpus);
	else /* for the reason */
		open_with("sched_switch", "sched_switch_5_18", cpus);
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
	missed_before = missed();
}

static void dump(FILE *out)
{
	core_facts_dump(&facts, out);
}

static void count(struct collector_counts *counts)
{
	counts->records = facts.count;
	counts->lost = 0;
	counts->missed = missed() - missed_before;
	counts->clamped = facts.clamped;
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
