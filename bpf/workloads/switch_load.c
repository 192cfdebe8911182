// SPDX-License-Identifier: MIT
/*
 * switch_load --rate R --tasks K [--counters FILE]: until SIGTERM or the parent's death K processes,
 * in pairs, make R context switches a second in all; each of them R / K. A pair stays on one CPU, the
 * pairs are spread over the CPUs. Writes "ready" on fd 3 (if open) once all are at work. FILE
 * (crowd.h) is brought up to date at each hand-over, or a thousand times a second.
 *
 * The first of a pair hands a byte to the second at times that are fixed beforehand, so that nothing
 * drifts. A hand-over is two switches: both have slept until then. If the first is late, it waits
 * for an answer instead, which is a switch too, and goes on at once. So what is missed is made up
 * for, up to half a second, and a rate that cannot be reached is the highest that can.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "arguments.h"
#include "clock.h"
#include "crowd.h"
#include "pin.h"

#define GIVE	     'g' /* no answer is waited for */
#define ASK	     'a'
#define NOTES_PER_S  1000
#define MOST_BETWEEN 64 /* a rate may be out of reach */
#define MOST_LATE_NS 500000000

static long long rate, tasks;
static int there[2], back[2]; /* of the pair that is being started; in a task, of its own */

static void give(int fd, char byte)
{
	if (write(fd, &byte, 1) != 1)
		_exit(1);
}

static char take(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		_exit(1);
	return byte;
}

/* Hand-overs between two notes of a task. */
static long long between_notes(void)
{
	long long every = rate / tasks / NOTES_PER_S;

	return every < 1 ? 1 : every < MOST_BETWEEN ? every : MOST_BETWEEN;
}

/* The n-th hand-over of a pair, in ns since the start. The pairs follow each other evenly. */
static uint64_t due(long long n, long long pair)
{
	return ((__int128)n * tasks + 2 * pair) * 1000000000 / rate;
}

static void lead(long long task)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC), next, now;
	long long every = between_notes();

	for (long long n = 0;; n++) {
		next = start + due(n, task / 2);
		now = clock_ns(CLOCK_MONOTONIC);
		if (next + MOST_LATE_NS < now) {
			start += now - next;
			next = now;
		}
		if (next > now) {
			struct timespec until = {next / 1000000000, next % 1000000000};

			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
			give(there[1], GIVE);
		} else {
			give(there[1], ASK);
			take(back[0]);
		}
		if (n % every == 0)
			crowd_note(task);
	}
}

static void follow(long long task)
{
	long long every = between_notes();

	for (long long n = 1;; n++) {
		if (take(there[0]) == ASK)
			give(back[1], ASK);
		if (n % every == 0)
			crowd_note(task);
	}
}

static void settle(long long task)
{
	cpu_set_t allowed;
	int cpu = -1;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		_exit(1);
	for (long long place = task / 2 % CPU_COUNT(&allowed); place >= 0; place--)
		for (cpu++; !CPU_ISSET(cpu, &allowed); cpu++)
			;
	if (pin_to(cpu) < 0)
		_exit(1);
}

static void switch_over(long long task)
{
	crowd_note(task); /* what came before is no part of the load */
	if (task % 2)
		follow(task);
	lead(task);
}

static void open_pipes(long long task)
{
	if (task % 2 == 0 && (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC)))
		crowd_fail("pipe");
}

/* The pair holds its pipes, and nobody else does. */
static void close_pipes(long long task)
{
	if (task % 2 == 0)
		return;
	for (int end = 0; end < 2; end++) {
		close(there[end]);
		close(back[end]);
	}
}

int main(int argc, char **argv)
{
	static const struct argument arguments[] = {
		{"--rate", &rate, 1, 100000000}, {"--tasks", &tasks, 2, 100000}, {0}};
	const char *path = crowd_counters(&argc, argv);

	parse_arguments(argc, argv, arguments);
	if (!rate || !tasks || tasks % 2) {
		fprintf(stderr, "switch_load: %s\n",
			!rate	 ? "--rate is missing"
			: !tasks ? "--tasks is missing"
				 : "--tasks must be even: tasks come in pairs");
		return 2;
	}
	return crowd_run(&(struct crowd){
		.program = "switch_load",
		.count = tasks,
		.counters = path,
		.before = open_pipes,
		.after = close_pipes,
		.settle = settle,
		.work = switch_over,
	});
}
