/* SPDX-License-Identifier: MIT */
/* Whether the kernel lets anything attach at a place, asked with an empty program in its place. */
#ifndef PROBETAX_SENSOR_PROBE_H
#define PROBETAX_SENSOR_PROBE_H

#include <stdbool.h>

/* `section` is the name of a program's section, which says where it belongs: lsm/file_open. 0, or
 * -errno: -ENOENT where the kernel has no such place, -EPERM where it refuses the whole way. */
int probe(const char *section);

#endif
