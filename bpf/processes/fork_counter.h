/* SPDX-License-Identifier: MIT */
/*
 * Whether any process was made since the last look, from the line `processes` of /proc/stat: every
 * fork and clone since boot, in all namespaces. It may grow without a new process to be listed,
 * never the other way round.
 */
#ifndef PROBETAX_FORK_COUNTER_H
#define PROBETAX_FORK_COUNTER_H

#include <stdbool.h>

/* Tries whether the counter can be believed here; where it cannot, every answer will be true. */
void fork_counter_open(void);

/* Ask before listing /proc: what is made during the listing then shows next time. */
bool fork_counter_moved(void);

#endif
