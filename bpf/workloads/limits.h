/* SPDX-License-Identifier: MIT */
#ifndef PROBETAX_LIMITS_H
#define PROBETAX_LIMITS_H

#include <stddef.h>

/* Says in `text` which limit on the number of processes is exhausted, and how to raise it. */
void explain_process_limit(char *text, size_t size);

#endif
