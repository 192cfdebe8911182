// SPDX-License-Identifier: MIT
/*
 * brood --count N --cpu-ms M [--together K] [--every-ms E] [--hold-ms H]: N child processes, each of
 * which uses M ms of CPU without a pause and ends. K live at a time; with E the n-th is not started
 * before n * E ms have passed. Then prints one JSON line, sleeps H ms so that collectors can read
 * once more, and exits:
 *
 *   pid, cpu_ns  this process; CPU time of all, children and this one
 *   processes    [pid, CPU time in ns] of each: of the children by the kernel's account of them when
 *                they were dead (whole microseconds), of this one by its own clock
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "clock.h"

struct life {
	pid_t pid;
	uint64_t cpu_ns;
};

static long long count, cpu_ms, together = 1, every_ms, hold_ms;
static struct life *lives;
static long long started, ended;

static void fail(const char *what)
{
	fprintf(stderr, "brood: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void live(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before the line above */
		_exit(1);
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < (uint64_t)cpu_ms * 1000000)
		burn();
	_exit(0);
}

static void start_one(void)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		fail("fork");
	if (!child)
		live(parent);
	lives[started++].pid = child;
}

static void bury_one(void)
{
	struct rusage used;
	pid_t pid = wait4(-1, NULL, 0, &used);

	for (long long i = 0; i < started; i++) {
		if (lives[i].pid != pid || lives[i].cpu_ns)
			continue;
		lives[i].cpu_ns = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000ull +
				  (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000ull;
		ended++;
		return;
	}
	fail("wait4");
}

static void report(void)
{
	uint64_t own = clock_ns(CLOCK_PROCESS_CPUTIME_ID), sum = own;

	for (long long i = 0; i < count; i++)
		sum += lives[i].cpu_ns;
	printf("{\"pid\":%d,\"cpu_ns\":%llu,\"processes\":[[%d,%llu]", getpid(),
	       (unsigned long long)sum, getpid(), (unsigned long long)own);
	for (long long i = 0; i < count; i++)
		printf(",[%d,%llu]", lives[i].pid, (unsigned long long)lives[i].cpu_ns);
	puts("]}");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct argument arguments[] = {
		{"--count", &count, 1, 100000},	       {"--cpu-ms", &cpu_ms, 1, 1ll << 30},
		{"--together", &together, 1, 10000},   {"--every-ms", &every_ms, 0, 1ll << 30},
		{"--hold-ms", &hold_ms, 0, 1ll << 30}, {0},
	};
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), now, due;

	parse_arguments(argc, argv, arguments);
	if (!count || !cpu_ms) {
		fprintf(stderr, "brood: --count or --cpu-ms is missing\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	lives = calloc(count, sizeof(*lives));
	if (!lives)
		fail("memory");
	while (started < count) {
		while (started - ended >= together)
			bury_one();
		due = begin + started * every_ms * 1000000;
		now = clock_ns(CLOCK_MONOTONIC);
		if (now < due)
			sleep_ns(due - now);
		start_one();
	}
	while (ended < count)
		bury_one();
	report();
	sleep_ns(hold_ms * 1000000);
	return 0;
}
