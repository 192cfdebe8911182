/* SPDX-License-Identifier: MIT */
/* What the sensor is told: by flags, and by a YAML file whose keys are the flags' names. */
#ifndef PROBETAX_SENSOR_CONFIG_H
#define PROBETAX_SENSOR_CONFIG_H

#include "collector.h"
#include "sensor_hooks.h"
#include "sensor_paths.h"

enum filter { FILTER_USER, FILTER_KERNEL };
enum buffer { BUFFER_RING, BUFFER_PERF };
enum bytes { BYTES_EVENT, BYTES_AGGREGATE, BYTES_OFF };
enum missing { MISSING_FAIL, MISSING_SKIP };
enum {
	RUNG_BEST = WAYS - 1
}; /* in place of a way: all of them but the cgroup's can be asked for */

#define BY_BUFFER (-1) /* as the wake-up policy: the one that the buffer's users have by habit */

struct config {
	bool wanted[HOOKS];
	struct path_set paths;
	long long filter, more_paths, buffer, wakeup, batch_kb, buffer_kb, bytes, sockets;
	long long rung, missing;
	const char *hooks_flag, *paths_flag, *file_flag;
};

extern struct config config;
extern const struct collector_option config_options[]; /* ends with a NULL name */

/* Adds what a list says, separated by commas. NULL, or what is wrong: valid until the next call. */
const char *config_add_hooks(const char *list);
const char *config_add_paths(const char *list);
/* Reads a file; ends the process with exit 2 and "sensor: FILE:LINE: what" if it is not right. */
void config_read(const char *file);
/* After the flags: fills in what was left out and refuses what does not go together. */
void config_finish(void);
void config_help(FILE *out);

#endif
