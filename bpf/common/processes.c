// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "collector.h"
#include "processes.h"

struct process_fact *process_facts_add(struct process_facts *facts)
{
	if (facts->length == facts->capacity) {
		facts->capacity = facts->capacity ? 2 * facts->capacity : 1024;
		facts->list = realloc(facts->list, facts->capacity * sizeof(*facts->list));
		if (!facts->list)
			collector_exit(EXIT_FAILED, "out of memory at %zu records",
				       facts->capacity);
	}
	return &facts->list[facts->length++];
}

void process_facts_dump(const struct process_facts *facts, FILE *out)
{
	if (facts->idle_ns < 0)
		fputs("\"idle_ns\":null,\"processes\":[", out);
	else
		fprintf(out, "\"idle_ns\":%lld,\"processes\":[", (long long)facts->idle_ns);
	for (size_t i = 0; i < facts->length; i++) {
		const struct process_fact *fact = &facts->list[i];

		fprintf(out, "%s[%u,", i ? "," : "", fact->pid);
		if (fact->start_ticks == NO_START)
			fputs("null", out);
		else
			fprintf(out, "%llu", (unsigned long long)fact->start_ticks);
		fprintf(out, ",%llu]", (unsigned long long)fact->cpu_ns);
	}
	fputc(']', out);
}
