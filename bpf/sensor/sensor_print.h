/* SPDX-License-Identifier: MIT */
/* An event as JSON, for programs, and as a line, for people. */
#ifndef PROBETAX_SENSOR_PRINT_H
#define PROBETAX_SENSOR_PRINT_H

#include <stdio.h>

#include "sensor.h"

/* Bytes of a name that are not ASCII become \u0080 to \u00ff, each for itself: any name survives. */
void print_json(FILE *out, const struct event_with_two_paths *event);
void print_line(FILE *out, const struct event_with_two_paths *event);

#endif
