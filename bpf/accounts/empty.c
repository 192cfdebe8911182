// SPDX-License-Identifier: MIT
/* Attaches one of the programs of empty.bpf.c and reads nothing. --on says which event. */
#include <string.h>

#include "loader.h"

EMBED_BPF_OBJECT("empty");

static const char *const events[] = {"switch", "switch_perf", "exec", "open", "send", NULL};
static const char *const programs[] = {"on_switch", "on_switch_perf", "on_exec", "on_open",
				       "on_send"};
static const bool in_tracefs[] = {false, true, false, true, true};

static long long event = -1;
static struct bpf_object *object;
static struct bpf_program *program;

static void open_empty(void)
{
	struct bpf_program *other = NULL;

	if (event < 0)
		collector_exit(EXIT_BAD_ARGUMENTS, "--on is missing");
	if (in_tracefs[event])
		loader_need_tracefs();
	object = open_embedded();
	while ((other = bpf_object__next_program(object, other)))
		bpf_program__set_autoload(other,
					  !strcmp(bpf_program__name(other), programs[event]));
	loader_load(object);
	program = loader_program(object, programs[event]);
	loader_attach(program);
}

static void dump_nothing(FILE *out)
{
	fputs("\"idle_ns\":null,\"processes\":[]", out);
}

static void count(struct collector_counts *counts)
{
	counts->records = 0;
	counts->recursion_misses = loader_recursion_misses(program);
}

static void close_empty(void)
{
	bpf_object__close(object);
}

int main(int argc, char **argv)
{
	static const struct collector_option options[] = {
		{"--on", &event, .words = events, .help = "the event that runs the program"},
		{0},
	};
	static const struct collector empty = {
		.name = "empty",
		.options = options,
		.open = open_empty,
		.scrape = monotonic_ns,
		.dump = dump_nothing,
		.count = count,
		.close = close_empty,
	};

	return collector_main(argc, argv, &empty);
}
