// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader.h"
#include "sensor_config.h"
#include "sensor_ladder.h"
#include "sensor_probe.h"

#define REASON_ROOM 512

static struct {
	size_t rung;
	bool skipped;
	char refusals[REASON_ROOM]; /* the rungs above, and why not */
} ladders[HOOKS];

const struct rung *ladder_rung(int hook)
{
	return &hooks[hook].rungs[ladders[hook].rung];
}

bool ladder_holds(int hook)
{
	return config.wanted[hook] && !ladders[hook].skipped;
}

static void note_refusal(int hook, int error)
{
	char *text = ladders[hook].refusals;
	size_t length = strlen(text);

	snprintf(text + length, REASON_ROOM - length, "%s%s: %s", length ? ", " : "",
		 way_name(ladder_rung(hook)->way),
		 strerrorname_np(-error) ? strerrorname_np(-error) : "?");
	if (getenv("PROBETAX_VERBOSE"))
		fprintf(stderr, "sensor: %s: %s is refused here (%s)\n", hooks[hook].name,
			way_name(ladder_rung(hook)->way), strerror(-error));
}

/* One that has a single way of attaching keeps it, whichever was asked for. */
static bool is_allowed(int hook)
{
	size_t count = hook_rungs(&hooks[hook]);

	return config.rung == RUNG_BEST ||
	       hooks[hook].rungs[0].way == hooks[hook].rungs[count - 1].way ||
	       ladder_rung(hook)->way == (enum way)config.rung;
}

/* Goes down from where the hook stands to the first rung that holds. */
void ladder_choose(int hook, struct bpf_object *object)
{
	size_t count = hook_rungs(&hooks[hook]);

	for (; ladders[hook].rung < count; ladders[hook].rung++) {
		int error;

		if (!is_allowed(hook))
			continue;
		error = probe(bpf_program__section_name(
			loader_program(object, ladder_rung(hook)->programs[0])));
		if (!error)
			return;
		note_refusal(hook, error);
	}
	if (!ladders[hook].refusals[0])
		snprintf(ladders[hook].refusals, REASON_ROOM, "it has no such rung");
	if (config.missing == MISSING_FAIL)
		collector_exit(EXIT_UNAVAILABLE, "hook %s: no way to attach here (%s)",
			       hooks[hook].name, ladders[hook].refusals);
	ladders[hook].skipped = true;
}

/* The hook whose rung now holds the program of that name; -1: it is nobody's. */
static int hook_with(const char *program)
{
	for (int hook = 0; hook < HOOKS; hook++)
		for (int i = 0; ladder_holds(hook) && i < MOST_PROGRAMS; i++)
			if (ladder_rung(hook)->programs[i] &&
			    !strcmp(ladder_rung(hook)->programs[i], program))
				return hook;
	return -1;
}

bool ladder_go_down(const char *program, int error)
{
	int hook = hook_with(program);

	if (hook < 0)
		return false;
	note_refusal(hook, error);
	ladders[hook].rung++;
	return true;
}

void ladder_describe(FILE *out)
{
	const char *comma = "";

	fputs(",\"attached\":{", out);
	for (int hook = 0; hook < HOOKS; hook++) {
		if (!ladder_holds(hook))
			continue;
		fprintf(out, "%s\"%s\":\"%s\"", comma, hooks[hook].name,
			way_name(ladder_rung(hook)->way));
		comma = ",";
	}
	fputs("},\"skipped\":{", out);
	comma = "";
	for (int hook = 0; hook < HOOKS; hook++) {
		if (!ladders[hook].skipped)
			continue;
		fprintf(out, "%s\"%s\":\"%s\"", comma, hooks[hook].name, ladders[hook].refusals);
		comma = ",";
	}
	fputc('}', out);
}
