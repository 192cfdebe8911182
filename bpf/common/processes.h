/* SPDX-License-Identifier: MIT */
/* The facts that every collector of the `processes` study holds after a scrape. */
#ifndef PROBETAX_PROCESSES_H
#define PROBETAX_PROCESSES_H

#include <stdint.h>
#include <stdio.h>

#define NO_START UINT64_MAX /* the source has no start time: null in the dump */

struct process_fact {
	uint32_t pid;
	uint64_t start_ticks; /* field 22 of /proc/<pid>/stat */
	uint64_t cpu_ns;      /* since the previous scrape */
};

struct process_facts {
	struct process_fact *list;
	size_t length, capacity;
	int64_t idle_ns; /* all CPUs since the previous scrape; -1: not known */
};

/* The next free record; the list grows as needed and never shrinks. */
struct process_fact *process_facts_add(struct process_facts *facts);
void process_facts_dump(const struct process_facts *facts, FILE *out);

#endif
