/* SPDX-License-Identifier: MIT */
#ifndef PROBETAX_SNAPSHOT_READER_H
#define PROBETAX_SNAPSHOT_READER_H

#include "gauges.h"
#include "loader.h"

/* Tells the program which CPUs there are; before loading. */
void snapshot_set_cpus(struct bpf_object *object);
/* Copies the newest whole snapshot into `facts`; returns its self-timed kernel_ns. */
uint64_t snapshot_read(int map_fd, struct gauge_facts *facts);

#endif
