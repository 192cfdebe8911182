/* SPDX-License-Identifier: MIT */
/* The facts that every collector of the `cores` study holds after a scrape. */
#ifndef PROBETAX_CORE_FACTS_H
#define PROBETAX_CORE_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct core_fact {
	uint64_t total_ns;  /* active, since boot or attachment */
	uint64_t active_ns; /* since the previous scrape; 0 in the first that saw this CPU */
	bool online, seen;
};

struct core_facts {
	struct core_fact *list; /* by CPU number: numbers may have holes */
	uint32_t count;
	uint64_t at_ns, interval_ns; /* since the previous scrape */
	long long clamped;
};

void core_facts_open(struct core_facts *facts, uint32_t count);
/* Begins a scrape: from now on CPUs are offline until they are set. */
void core_facts_begin(struct core_facts *facts, uint64_t at_ns);
/* What a CPU's counter says now. One that falls is counted, and kept as it was. */
void core_facts_set(struct core_facts *facts, uint32_t cpu, uint64_t total_ns);
/* Sets who is online by the kernel's list, for a source that does not say. */
void core_facts_read_online(struct core_facts *facts);
void core_facts_dump(const struct core_facts *facts, FILE *out);

#endif
