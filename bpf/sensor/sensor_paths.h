/* SPDX-License-Identifier: MIT */
/* The path set: an entry that ends with / is everything below it, any other is that file alone. */
#ifndef PROBETAX_SENSOR_PATHS_USER_H
#define PROBETAX_SENSOR_PATHS_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sensor.h"

struct path_set {
	struct path_entry *list;
	size_t length, capacity;
	bool sorted;
};

/* Adds an entry; NULL, or what is wrong with it in a few words. */
const char *path_set_add(struct path_set *set, const char *path, size_t length);
/* Adds so many that no path begins with, each the same at every run. */
void path_set_add_synthetic(struct path_set *set, long long count);
void path_set_clear(struct path_set *set);

/* Whether a path is inside: `bytes` of it, the NUL among them unless it was cut off. */
bool path_set_holds(struct path_set *set, const char *path, size_t bytes);
/* Writes all of it into a trie whose keys are struct path_text; 0 or -errno. */
int path_set_fill(const struct path_set *set, int trie_fd);

#endif
