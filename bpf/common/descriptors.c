// SPDX-License-Identifier: MIT
#include <sys/resource.h>

#include "descriptors.h"

#define SPARE 32 /* for everything else that is open */
#define MOST  (1ll << 30)

long long descriptors_to_keep(void)
{
	struct rlimit limit;
	long long most = MOST;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < (rlim_t)MOST)
		most = limit.rlim_cur;
	return most > SPARE ? most - SPARE : 0;
}
