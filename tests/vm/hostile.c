// SPDX-License-Identifier: MIT
/* Preloaded: a host on which a main loop wakes for no reason, 0 to 0.1 ms after it went to sleep. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int (*real_ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

__attribute__((constructor)) static void find(void)
{
	*(void **)&real_ppoll = dlsym(RTLD_NEXT, "ppoll");
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec soon = {0, random() % 100000};

	if (gettid() != getpid())
		return real_ppoll(fds, count, timeout, mask);
	if (timeout && timeout->tv_sec == 0 && timeout->tv_nsec < soon.tv_nsec)
		soon = *timeout;
	return real_ppoll(fds, count, &soon, mask);
}
