/* SPDX-License-Identifier: MIT */
/* The hooks, and for each the ways of attaching to it, best first. */
#ifndef PROBETAX_SENSOR_HOOKS_H
#define PROBETAX_SENSOR_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

#include "sensor.h"

#define MOST_RUNGS    5
#define MOST_PROGRAMS 5

enum way { LSM, FENTRY, KPROBE, TRACEPOINT, CGROUP, WAYS };

/* The first program must attach; the others where the kernel has what they attach to. */
struct rung {
	enum way way;
	const char *programs[MOST_PROGRAMS]; /* of sensor.bpf.c; NULL after the last */
};

struct hook {
	const char *name;
	const char *reports;	       /* for --help */
	struct rung rungs[MOST_RUNGS]; /* without a program after the last */
};

extern const struct hook hooks[HOOKS]; /* by enum event_kind */

const char *way_name(enum way way);
size_t hook_rungs(const struct hook *hook);
/* The place of the hook of that name; -1: there is none. */
int hook_find(const char *name, size_t length);
/* What an event is called: its hook's name, or `flow`. */
const char *kind_name(unsigned int kind);

#endif
