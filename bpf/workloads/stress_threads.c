// SPDX-License-Identifier: MIT
/*
 * stress_threads --count N [--sleep-us U] [--seconds S] [--counters FILE]: scheduler pressure. N tasks
 * sleep U microseconds (10,000), wake up and sleep again, until SIGTERM, S seconds are over or the
 * parent dies. Writes "ready" on fd 3 (if open) once all are at work, and at the end on stdout
 *   {"tasks":..,"switches":..,"voluntary":..,"cpu_ns":..,"seconds":..}
 * of all of them, by the kernel's count.
 *
 * Each is a process of its own, as those of a stress script in a shell are: a tool that lists
 * processes lists them too. They are bound to no CPU.
 *
 * FILE: a line of 64 bytes for each task, as switch_load writes it, brought up to date at each wake-up:
 * its switches so far, and those of them that it made of its own will.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "clock.h"
#include "limits.h"

#define READY_FD 3

struct counter {
	uint64_t switches, voluntary;
	char rest[48]; /* a cache line each */
};

static long long count, sleep_us = 10000, seconds;
static struct counter *counters;
static int go[2], ready;

static void fail(const char *what)
{
	fprintf(stderr, "stress_threads: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void note(struct counter *counter)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	__atomic_store_n(&counter->switches, used.ru_nvcsw + used.ru_nivcsw, __ATOMIC_RELAXED);
	__atomic_store_n(&counter->voluntary, used.ru_nvcsw, __ATOMIC_RELAXED);
}

static void work(long long task, pid_t parent, const sigset_t *before)
{
	struct timespec pause = {sleep_us / 1000000, sleep_us % 1000000 * 1000};
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before the line above */
		_exit(1);
	sigprocmask(SIG_SETMASK, before, NULL);
	prctl(PR_SET_TIMERSLACK, 1);
	close(go[1]);
	if (ready > 0)
		close(ready);
	if (read(go[0], &byte, 1)) /* its end: all are there */
		_exit(1);
	close(go[0]);
	for (;;) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		note(&counters[task]);
	}
}

static void start(pid_t *children, const sigset_t *before)
{
	char reason[8192];
	pid_t parent = getpid();

	if (pipe2(go, O_CLOEXEC))
		fail("pipe");
	for (long long i = 0; i < count; i++) {
		children[i] = fork();
		if (!children[i])
			work(i, parent, before);
		if (children[i] < 0) { /* those that were started die with this process */
			if (errno == EAGAIN)
				explain_process_limit(reason, sizeof(reason));
			else
				snprintf(reason, sizeof(reason), "%s", strerror(errno));
			fprintf(stderr, "stress_threads: cannot start task %lld of %lld: %s\n",
				i + 1, count, reason);
			exit(1);
		}
	}
	close(go[0]);
	close(go[1]);
}

static void share_counters(const char *path)
{
	size_t size = count * sizeof(*counters);
	int file = -1;

	if (path) {
		file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (file < 0 || ftruncate(file, size))
			fail(path);
	}
	counters = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | (path ? 0 : MAP_ANONYMOUS),
			file, 0);
	if (counters == MAP_FAILED)
		fail("the counters");
}

static void parse(int argc, char **argv, const char **path)
{
	static const struct argument arguments[] = {{"--count", &count, 1, 100000},
						    {"--sleep-us", &sleep_us, 1, 1000000000},
						    {"--seconds", &seconds, 1, 1000000},
						    {0}};

	if (argc > 2 && !strcmp(argv[argc - 2], "--counters")) {
		*path = argv[argc - 1];
		argc -= 2;
	}
	parse_arguments(argc, argv, arguments);
	if (!count) {
		fprintf(stderr, "stress_threads: --count is missing\n");
		exit(2);
	}
}

/* Waits for the end; the signal that brought it, or -1: the time is over. */
static int wait_for_end(const sigset_t *end)
{
	struct timespec left = {seconds, 0};
	int number;

	do {
		number = seconds ? sigtimedwait(end, NULL, &left) : sigwaitinfo(end, NULL);
	} while (number < 0 && errno == EINTR);
	return number;
}

static void report(double lasted)
{
	unsigned long long switches = 0, voluntary = 0;
	struct rusage all;

	getrusage(RUSAGE_CHILDREN, &all);
	for (long long i = 0; i < count; i++) {
		switches += counters[i].switches;
		voluntary += counters[i].voluntary;
	}
	printf("{\"tasks\":%lld,\"switches\":%llu,\"voluntary\":%llu,\"cpu_ns\":%lld,"
	       "\"seconds\":%.3f}\n",
	       count, switches, voluntary,
	       (all.ru_utime.tv_sec + all.ru_stime.tv_sec) * 1000000000ll +
		       (all.ru_utime.tv_usec + all.ru_stime.tv_usec) * 1000ll,
	       lasted);
}

int main(int argc, char **argv)
{
	const char *path = NULL;
	sigset_t end, before;
	uint64_t began;
	pid_t *children;
	int number;

	ready = fcntl(READY_FD, F_GETFD) >= 0;
	parse(argc, argv, &path);
	if (ready) { /* out of the way of the pipe */
		ready = fcntl(READY_FD, F_DUPFD_CLOEXEC, 10);
		close(READY_FD);
	}
	share_counters(path);
	children = calloc(count, sizeof(*children));
	if (!children)
		fail("memory");
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	sigaddset(&end, SIGCHLD);
	sigprocmask(SIG_BLOCK, &end, &before);
	start(children, &before);
	began = clock_ns(CLOCK_MONOTONIC);
	if (ready > 0 && write(ready, "ready\n", 6) != 6)
		fprintf(stderr, "stress_threads: nobody reads fd %d\n", READY_FD);
	number = wait_for_end(&end);
	for (long long i = 0; i < count; i++)
		kill(children[i], SIGKILL);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	report((clock_ns(CLOCK_MONOTONIC) - began) / 1e9);
	if (number == SIGCHLD)
		fprintf(stderr, "stress_threads: a task of it has ended\n");
	return number == SIGCHLD;
}
