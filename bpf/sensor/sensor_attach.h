/* SPDX-License-Identifier: MIT */
/* Loads the sensor's programs and attaches them, each hook as well as the kernel lets it. */
#ifndef PROBETAX_SENSOR_ATTACH_H
#define PROBETAX_SENSOR_ATTACH_H

#include "loader.h"

/*
 * Chooses a rung for each wanted hook, loads, and attaches after `prepare` has made ready what the
 * programs will fill. Where the kernel refuses a program after all, its hook goes down one rung and
 * everything is done again, after `undo`. A hook without a rung ends the sensor as unavailable, unless
 * it is to be skipped.
 */
struct bpf_object *attach_all(void (*prepare)(struct bpf_object *object), void (*undo)(void));
void detach_all(void);

/* Whether sums are kept for sockets, for the reader to take. */
bool attached_sums(void);
long long attached_recursion_misses(void);

#endif
