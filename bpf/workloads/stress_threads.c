// SPDX-License-Identifier: MIT
/*
 * stress_threads --count N [--sleep-us U] [--seconds S] [--counters FILE]: scheduler pressure. N tasks
 * sleep U microseconds (10,000), wake up and sleep again, until SIGTERM, S seconds are over or the
 * parent dies. Writes "ready" on fd 3 (if open) once all are at work, and at the end on stdout
 *   {"tasks":..,"switches":..,"voluntary":..,"cpu_ns":..,"seconds":..}
 * of all of them, by the kernel's count. FILE (crowd.h) is brought up to date at each wake-up.
 *
 * Each is a process of its own, as those of a stress script in a shell are: a tool that lists
 * processes lists them too. They are bound to no CPU.
 */
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <sys/resource.h>

#include "arguments.h"
#include "clock.h"
#include "crowd.h"

static long long count, sleep_us = 10000, seconds;

static void sleep_and_wake(long long task)
{
	struct timespec pause = {sleep_us / 1000000, sleep_us % 1000000 * 1000};

	prctl(PR_SET_TIMERSLACK, 1);
	for (;;) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		crowd_note(task);
	}
}

static void report(double lasted)
{
	struct counter total = crowd_total();
	struct rusage all;

	getrusage(RUSAGE_CHILDREN, &all);
	printf("{\"tasks\":%lld,\"switches\":%llu,\"voluntary\":%llu,\"cpu_ns\":%lld,"
	       "\"seconds\":%.3f}\n",
	       count, (unsigned long long)total.switches, (unsigned long long)total.voluntary,
	       (all.ru_utime.tv_sec + all.ru_stime.tv_sec) * 1000000000ll +
		       (all.ru_utime.tv_usec + all.ru_stime.tv_usec) * 1000ll,
	       lasted);
}

int main(int argc, char **argv)
{
	static const struct argument arguments[] = {{"--count", &count, 1, 100000},
						    {"--sleep-us", &sleep_us, 1, 1000000000},
						    {"--seconds", &seconds, 1, 1000000},
						    {0}};
	const char *path = crowd_counters(&argc, argv);

	parse_arguments(argc, argv, arguments);
	if (!count) {
		fprintf(stderr, "stress_threads: --count is missing\n");
		return 2;
	}
	return crowd_run(&(struct crowd){
		.program = "stress_threads",
		.count = count,
		.seconds = seconds,
		.counters = path,
		.work = sleep_and_wake,
		.ended = report,
	});
}
