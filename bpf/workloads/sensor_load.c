// SPDX-License-Identifier: MIT
/*
 * sensor_load EVENT --events N [--size BYTES] [--pause-us U] [--cpu C] [--turns T]: N events of one
 * kind on one CPU, nothing else: what a security sensor looks at. Without arguments: the kinds. Hot
 * (no pause): back to back. Paced: U microseconds of sleep before each event, so that the CPU goes
 * idle. T turns of as many, each begun by a byte on standard input, or one turn at once.
 *
 * Prints one JSON line a turn:
 *   events   N
 *   wall_ns  from before the first to after the last
 *   work_ns  CPU time of the process and of those that it started and that have ended
 *
 * Exit 3: this kernel, or this user, cannot do it.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include "arguments.h"
#include "clock.h"
#include "pin.h"
#include "load_events.h"
#include "turns.h"

static const struct event *const kinds[] = {file_events, task_events, socket_events};
static const struct event *event;
static long long events, pause_us, cpu = -1, turns;

void load_failed(const char *what)
{
	fprintf(stderr, "sensor_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

void load_unavailable(const char *what)
{
	fprintf(stderr, "sensor_load: %s: %s\n", what, strerror(errno));
	exit(3);
}

static const struct event *find(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (const struct event *kind = kinds[i]; kind->name; kind++)
			if (!strcmp(kind->name, name))
				return kind;
	return NULL;
}

static void list(FILE *out)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (const struct event *kind = kinds[i]; kind->name; kind++)
			fprintf(out, "  %-13s %s\n", kind->name, kind->does);
}

static uint64_t of_children(void)
{
	struct rusage used;

	getrusage(RUSAGE_CHILDREN, &used);
	return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000ull +
	       (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000ull;
}

static void take_turn(void)
{
	uint64_t began, own, children;

	event->make(); /* what only the first one does is none of the rest's */
	began = clock_ns(CLOCK_MONOTONIC);
	children = of_children();
	own = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (long long i = 0; i < events; i++) {
		if (pause_us)
			sleep_ns(pause_us * 1000);
		event->make();
	}
	own = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - own;
	children = of_children() - children;
	printf("{\"events\":%lld,\"wall_ns\":%llu,\"work_ns\":%llu,\"cpu\":%lld}\n", events,
	       (unsigned long long)(clock_ns(CLOCK_MONOTONIC) - began),
	       (unsigned long long)(own + children), cpu);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct argument arguments[] = {
		{"--events", &events, 1, 1ll << 40},  {"--size", &message_size, 1, 1 << 20},
		{"--pause-us", &pause_us, 0, 999999}, {"--cpu", &cpu, 0, CPU_SETSIZE - 1},
		{"--turns", &turns, 1, 1ll << 20},    {0},
	};

	event = argc > 1 ? find(argv[1]) : NULL;
	if (!event) {
		fprintf(stderr, "sensor_load: %s%s; it can make\n", argc > 1 ? "no event " : "",
			argc > 1 ? argv[1] : "which event is missing");
		list(stderr);
		return 2;
	}
	argv[1] = argv[0];
	parse_arguments(argc - 1, argv + 1, arguments);
	if (!events) {
		fprintf(stderr, "sensor_load: --events is missing\n");
		return 2;
	}
	cpu = pin_to(cpu);
	if (cpu < 0)
		load_failed("pinning to the CPU given by --cpu");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (event->prepare)
		event->prepare();
	take_turns(turns, take_turn);
	return 0;
}
