// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "core_facts.h"

#define ONLINE "/sys/devices/system/cpu/online"

void core_facts_open(struct core_facts *facts, uint32_t count)
{
	facts->list = calloc(count, sizeof(*facts->list));
	if (!facts->list)
		collector_exit(EXIT_FAILED, "out of memory at %u CPUs", count);
	facts->count = count;
}

void core_facts_begin(struct core_facts *facts, uint64_t at_ns)
{
	facts->interval_ns = facts->at_ns ? at_ns - facts->at_ns : 0;
	facts->at_ns = at_ns;
	for (uint32_t cpu = 0; cpu < facts->count; cpu++)
		facts->list[cpu].online = false;
}

void core_facts_set(struct core_facts *facts, uint32_t cpu, uint64_t total_ns)
{
	struct core_fact *fact = &facts->list[cpu];

	if (total_ns < fact->total_ns) {
		facts->clamped++;
		total_ns = fact->total_ns;
	}
	fact->active_ns = fact->seen ? total_ns - fact->total_ns : 0;
	fact->total_ns = total_ns;
	fact->seen = fact->online = true;
}

void core_facts_read_online(struct core_facts *facts)
{
	FILE *file = fopen(ONLINE, "r");
	unsigned int first, last;
	int mark = ',';

	if (!file)
		collector_exit(EXIT_FAILED, ONLINE ": %s", strerror(errno));
	for (uint32_t cpu = 0; cpu < facts->count; cpu++)
		facts->list[cpu].online = false;
	/* ranges such as 0-3,8,10-11 */
	while (mark == ',' && fscanf(file, "%u", &first) == 1) {
		last = first;
		mark = fgetc(file);
		if (mark == '-' && fscanf(file, "%u", &last) == 1)
			mark = fgetc(file);
		for (; first <= last && first < facts->count; first++)
			facts->list[first].online = true;
	}
	fclose(file);
}

void core_facts_dump(const struct core_facts *facts, FILE *out)
{
	const char *before = "";

	fputs("\"cores\":{", out);
	for (uint32_t cpu = 0; cpu < facts->count; cpu++) {
		if (!facts->list[cpu].online)
			continue;
		fprintf(out, "%s\"%u\":%llu", before, cpu,
			(unsigned long long)facts->list[cpu].active_ns);
		before = ",";
	}
	fputc('}', out);
}
