/* SPDX-License-Identifier: MIT */
/* The buffer between the programs and the reader: a ring for all CPUs, or a perf buffer for each. */
#ifndef PROBETAX_SENSOR_BUFFER_H
#define PROBETAX_SENSOR_BUFFER_H

#include <bpf/libbpf.h>
#include <signal.h>
#include <stdint.h>

/* Bytes of the ring for so many that are asked for: a power of two pages. */
uint64_t buffer_ring_bytes(void);
/* Ready to be filled; every event goes to `take`. */
void buffer_open(struct bpf_object *object, void (*take)(const void *event, size_t size));
void buffer_close(void);
/* Hands over what is there. */
void buffer_drain(void);
/* Sleeps until the programs wake it, a signal comes, or the time is there; then hands over. */
void buffer_wait(uint64_t until_ns, const sigset_t *waiting);

uint64_t buffer_bytes(void);   /* of all CPUs together */
uint64_t buffer_wakeups(void); /* how often it was woken */

#endif
