/* SPDX-License-Identifier: MIT */
#ifndef PROBETAX_SCHED_SWITCH_READER_H
#define PROBETAX_SCHED_SWITCH_READER_H

#include "collector.h"
#include "processes.h"
#include "sched_switch.h"

/* The maps of sched_switch.bpf.c as the reader reaches them. */
struct sched_switch_memory {
	const struct cpu_record *cpus;
	const struct sched_switch_counters *counters;
	struct task_slot *slots;
	uint64_t *changes;
	uint32_t change_mask;
	uint32_t slot_count, cpu_count;
	int free_slots_fd;
};

/* Hands all slots to the program; before it is attached. */
void sched_switch_reader_start(const struct sched_switch_memory *shared);
uint64_t sched_switch_scrape(void);
const struct process_facts *sched_switch_facts(void);

#endif
