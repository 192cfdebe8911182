/* SPDX-License-Identifier: MIT */
#ifndef PROBETAX_CLOCK_H
#define PROBETAX_CLOCK_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static inline void sleep_ns(uint64_t ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}

/* Some microseconds of work that no compiler removes. */
static inline void burn(void)
{
	for (volatile int i = 0; i < 5000; i++)
		;
}

#endif
