// SPDX-License-Identifier: MIT
/* Loads sched_switch.bpf.c, maps its memory and attaches it; sched_switch_reader.c reads. */
#include <bpf/bpf.h>
#include <time.h>

#include "loader.h"
#include "sched_switch_reader.h"

EMBED_BPF_OBJECT("sched_switch");

/* 32,768 direct ones, as many as there are task ids where pid_max is not raised */
static long long slot_count = 32768 + 16384;
static struct sched_switch_memory memory;
static struct bpf_object *object;
static struct bpf_program *program, *sample_program;

static void load(void)
{
	bool second = loader_prev_state_is_second();
	struct timespec now;
	uint64_t loaded_at;

	object = open_embedded();
	program = loader_program(object, second ? "sched_switch_5_18" : "sched_switch");
	bpf_program__set_autoload(
		loader_program(object, second ? "sched_switch" : "sched_switch_5_18"), false);
	clock_gettime(CLOCK_BOOTTIME, &now);
	loaded_at = now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
	loader_set_constant(object, "loaded_at", &loaded_at, sizeof(loaded_at));
	bpf_map__set_max_entries(loader_map(object, "cpus"), memory.cpu_count);
	bpf_map__set_max_entries(loader_map(object, "samples"), memory.cpu_count);
	bpf_map__set_max_entries(loader_map(object, "slots"), memory.slot_count);
	bpf_map__set_max_entries(loader_map(object, "displaced"),
				 memory.slot_count - memory.direct_count);
	bpf_map__set_max_entries(loader_map(object, "free_places"),
				 memory.slot_count - memory.direct_count);
	loader_load(object);
}

static void sample(void)
{
	loader_run(sample_program, -1);
}

static void open_sched_switch(void)
{
	struct bpf_program *seed;

	loader_need_initial_pid_namespace();
	memory.cpu_count = loader_possible_cpus(NULL, 0);
	memory.slot_count = slot_count;
	for (memory.direct_count = 1; 2 * memory.direct_count < memory.slot_count;)
		memory.direct_count *= 2;
	load();
	memory.cpus = loader_mmap(loader_map(object, "cpus"), true);
	memory.slots = loader_mmap(loader_map(object, "slots"), true);
	memory.samples = loader_mmap(loader_map(object, "samples"), false);
	memory.free_places_fd = bpf_map__fd(loader_map(object, "free_places"));
	memory.sample = sample;
	sample_program = loader_program(object, "sample");
	sched_switch_reader_start(&memory);
	loader_attach(program);
	seed = loader_program(object, "seed");
	for (uint32_t cpu = 0; cpu < memory.cpu_count; cpu++)
		loader_run(seed, cpu); /* fails for CPUs that are offline */
	bpf_program__unload(seed);
}

static void dump(FILE *out)
{
	process_facts_dump(sched_switch_facts(), out);
}

static void count(struct collector_counts *counts)
{
	counts->records = sched_switch_facts()->length;
	counts->lost = 0;
	counts->missed = 0;
	for (uint32_t cpu = 0; cpu < memory.cpu_count; cpu++) {
		counts->lost += memory.cpus[cpu].lost;
		counts->missed += memory.cpus[cpu].missed;
	}
	counts->recursion_misses = loader_recursion_misses(program);
}

static void close_sched_switch(void)
{
	bpf_object__close(object);
}

int main(int argc, char **argv)
{
	static const struct collector_option options[] = {
		{"--slots", &slot_count, 2, 1 << 20, .help = "tasks (threads) known at a time"},
		{0},
	};
	static const struct collector sched_switch = {
		.name = "sched_switch",
		.options = options,
		.open = open_sched_switch,
		.scrape = sched_switch_scrape,
		.dump = dump,
		.count = count,
		.close = close_sched_switch,
	};

	return collector_main(argc, argv, &sched_switch);
}
