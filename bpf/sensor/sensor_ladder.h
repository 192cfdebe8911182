/* SPDX-License-Identifier: MIT */
/* Where each hook stands on its ladder. */
#ifndef PROBETAX_SENSOR_LADDER_H
#define PROBETAX_SENSOR_LADDER_H

#include <stdio.h>

#include "loader.h"
#include "sensor_hooks.h"

/* Goes down from where the hook stands to the first rung that the kernel has. Without one it is
 * skipped, or the sensor ends as unavailable. */
void ladder_choose(int hook, struct bpf_object *object);
/* Whether the hook is wanted and not skipped; then it stands on this rung. */
bool ladder_holds(int hook);
const struct rung *ladder_rung(int hook);
/* One rung down for the hook that this program belongs to, which the kernel refused after all. False: it
 * belongs to no hook. */
bool ladder_go_down(const char *program, int error);
/* "attached" and "skipped" of the closing line, a comma before each. */
void ladder_describe(FILE *out);

#endif
