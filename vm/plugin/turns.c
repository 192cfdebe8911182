// SPDX-License-Identifier: MIT
/*
 * Preloaded into QEMU: its main loop and its CPU take turns, so that how fast the host runs each of
 * them changes nothing in the guest.
 *
 * A CPU that halts is marked as halted first; what it has executed since the clock was last read is
 * added to the clock after that. A main loop that happens to be awake in between finds the CPU idle
 * and moves the clock on to the next timer from a time that is past: the guest's interrupt then
 * comes some hundred instructions late. On a quiet host that is rare, one boot in dozens.
 *
 * So each of the two goes on only while the other waits, be it for events or for a condition.
 * Nothing in an instruction-counted machine needs both at once: the CPU runs its timers by itself.
 * A guest that has asked for its end must halt, for the main loop ends it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

enum thread { MAIN_LOOP, CPU };

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool waits[] = {[MAIN_LOOP] = false, [CPU] = true}; /* there is no CPU at first */

static int (*real_ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
static int (*real_cond_wait)(pthread_cond_t *, pthread_mutex_t *);

__attribute__((constructor)) static void find(void)
{
	*(void **)&real_ppoll = dlsym(RTLD_NEXT, "ppoll");
	*(void **)&real_cond_wait = dlsym(RTLD_NEXT, "pthread_cond_wait");
}

/* QEMU's other threads wait for no condition in this way. */
static enum thread self(void)
{
	return gettid() == getpid() ? MAIN_LOOP : CPU;
}

static void give(enum thread me)
{
	pthread_mutex_lock(&turn);
	waits[me] = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&turn);
}

static bool took(enum thread me)
{
	bool free;

	pthread_mutex_lock(&turn);
	free = waits[!me];
	if (free)
		waits[me] = false;
	pthread_mutex_unlock(&turn);
	return free;
}

static void await(enum thread other)
{
	pthread_mutex_lock(&turn);
	while (!waits[other])
		real_cond_wait(&changed, &turn);
	pthread_mutex_unlock(&turn);
}

PUBLIC int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		 const sigset_t *mask)
{
	int found, error;

	if (self() != MAIN_LOOP)
		return real_ppoll(fds, count, timeout, mask);
	give(MAIN_LOOP);
	found = real_ppoll(fds, count, timeout, mask);
	error = errno;
	while (!took(MAIN_LOOP))
		await(CPU);
	errno = error;
	return found;
}

/* May return before it was signalled, as its callers know it may. */
PUBLIC int pthread_cond_wait(pthread_cond_t *signalled, pthread_mutex_t *held)
{
	enum thread me = self();
	int status;

	give(me);
	status = real_cond_wait(signalled, held);
	while (!took(me)) {
		pthread_mutex_unlock(held); /* the other may need it to come to its end */
		await(!me);
		pthread_mutex_lock(held);
	}
	return status;
}
