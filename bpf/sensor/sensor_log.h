/* SPDX-License-Identifier: MIT */
/* What the reader holds: the last events as records of one size, and counts of all of them. */
#ifndef PROBETAX_SENSOR_LOG_H
#define PROBETAX_SENSOR_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sensor.h"

#define LOG_EVENTS 4096

struct log_counts {
	uint64_t events, filtered; /* kept; dropped by the reader's path filter */
	uint64_t by_kind[EVENT_KINDS];
	uint64_t bytes_sent, bytes_received;
	uint64_t malformed;
};

extern struct log_counts log_counts; /* since the start */

void log_open(void);
/* Takes an event from the buffer. */
void log_take(const void *event, size_t size);
/* Called for each event that is kept, if set. */
extern void (*log_watcher)(const struct event_with_two_paths *event);

/* What follows speaks of the events after the last call. */
void log_tick(void);
/* "events" and "counts" of that time, no braces; of more than the log holds, the last. */
void log_dump(FILE *out);
uint64_t log_held(void);

#endif
