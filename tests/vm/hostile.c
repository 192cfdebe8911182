// SPDX-License-Identifier: MIT
/*
 * Preloaded: a host on which QEMU's main loop wakes for no reason, 0 to 0.1 ms after it went to
 * sleep. With HOSTILE_DAWDLES in the environment a CPU that leaves the guest's code, to halt for
 * instance, is now and then slow about it, too: then the two meet for sure.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int (*real_ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
static __typeof__(siglongjmp) *real_jump, *real_checked_jump;
extern __typeof__(siglongjmp) __longjmp_chk;

static bool dawdles;

__attribute__((constructor)) static void find(void)
{
	dawdles = getenv("HOSTILE_DAWDLES");
	*(void **)&real_ppoll = dlsym(RTLD_NEXT, "ppoll");
	*(void **)&real_jump = dlsym(RTLD_NEXT, "siglongjmp");
	*(void **)&real_checked_jump = dlsym(RTLD_NEXT, "__longjmp_chk");
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

static void dawdle(void)
{
	static unsigned int left;
	struct timespec began, now;

	if (!dawdles || ++left % 64)
		return;
	clock_gettime(CLOCK_MONOTONIC, &began);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - began.tv_sec) * 1000000000 + now.tv_nsec - began.tv_nsec < 20000);
}

void siglongjmp(sigjmp_buf where, int value)
{
	dawdle();
	real_jump(where, value);
	__builtin_unreachable();
}

/* What it is where the program was built with fortification. */
void __longjmp_chk(sigjmp_buf where, int value)
{
	dawdle();
	real_checked_jump(where, value);
	__builtin_unreachable();
}
