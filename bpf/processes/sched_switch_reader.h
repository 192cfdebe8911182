/* SPDX-License-Identifier: MIT */
#ifndef PROBETAX_SCHED_SWITCH_READER_H
#define PROBETAX_SCHED_SWITCH_READER_H

#include "collector.h"
#include "processes.h"
#include "sched_switch.h"

/* The maps of sched_switch.bpf.c as the reader reaches them. */
struct sched_switch_memory {
	struct cpu_record *cpus;
	struct task_slot *slots;
	const struct running_sample *samples;
	uint32_t direct_count, slot_count, cpu_count;
	int free_places_fd;
	void (*sample)(void); /* runs the program of that name */
};

/* Prepares the shared memory; before the program is attached. */
void sched_switch_reader_start(const struct sched_switch_memory *shared);
uint64_t sched_switch_scrape(void);
const struct process_facts *sched_switch_facts(void);

#endif
