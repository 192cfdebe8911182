// SPDX-License-Identifier: MIT
/* Wakes at every interval and does nothing: what any agent costs before it reads a thing. */
#include "collector.h"

static void dump_nothing(FILE *out)
{
	fputs("\"idle_ns\":null,\"processes\":[]", out);
}

int main(int argc, char **argv)
{
	static const struct collector null_agent = {
		.name = "null_agent",
		.scrape = monotonic_ns,
		.dump = dump_nothing,
	};

	return collector_main(argc, argv, &null_agent);
}
