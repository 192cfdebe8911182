// SPDX-License-Identifier: MIT
/*
 * pipe_switch --switches N [--pause-us U] [--cpu C] [--turns T]: two processes on one CPU hand a
 * byte to and fro over pipes. Each hand-over blocks one and wakes the other: N forced context
 * switches. T turns of as many, each begun by a byte on standard input, or one turn at once.
 *
 * Hot (no pause): back to back. Paced: the first process sleeps U microseconds before each round
 * trip, so that the CPU goes idle: two further switches, to the idle task and back.
 *
 * The kernel bills the time spent in a sched_switch hook to the task that is switched IN. A switch
 * to the idle task is therefore in nobody's cpu_ns: billed_switches leaves those out.
 *
 * Prints one JSON line a turn:
 *   switches         forced ones: N, and two for each pause
 *   billed_switches  those of them whose hook time is part of cpu_ns
 *   wall_ns, cpu_ns  from the first hand-over to the last; cpu_ns of both processes
 *   voluntary, involuntary  what the kernel counted for both; their sum exceeds the switches of
 *                    the two by what others on this CPU interrupted
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "clock.h"
#include "pin.h"
#include "turns.h"

#define GO   'g'
#define STOP 's'

struct usage {
	uint64_t cpu_ns;
	long voluntary, involuntary;
};

static long long switches, pause_us, cpu = -1, turns;
static int there[2], back[2], result[2];
static pid_t child;

static void fail(const char *what)
{
	fprintf(stderr, "pipe_switch: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct usage own_usage(void)
{
	struct rusage kernel;

	getrusage(RUSAGE_SELF, &kernel);
	return (struct usage){clock_ns(CLOCK_PROCESS_CPUTIME_ID), kernel.ru_nvcsw,
			      kernel.ru_nivcsw};
}

static struct usage used_since(struct usage start)
{
	struct usage now = own_usage();

	return (struct usage){now.cpu_ns - start.cpu_ns, now.voluntary - start.voluntary,
			      now.involuntary - start.involuntary};
}

static void give(int fd, char byte)
{
	if (write(fd, &byte, 1) != 1)
		fail("write");
}

static char take(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		fail("read");
	return byte;
}

static void answer(void)
{
	struct usage start, used;
	char byte;

	close(there[1]);
	while (read(there[0], &byte, 1) == 1) { /* a turn each */
		start = own_usage();
		do {
			give(back[1], GO);
		} while (take(there[0]) != STOP);
		used = used_since(start);
		used.voluntary--; /* the wait between the start and the first hand-over */
		if (write(result[1], &used, sizeof(used)) != sizeof(used))
			fail("write");
	}
	_exit(0);
}

static void rest(void)
{
	struct timespec pause = {pause_us / 1000000, pause_us % 1000000 * 1000};

	if (pause_us)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void take_turn(void)
{
	long long pauses = pause_us ? (switches + 1) / 2 : 0;
	struct usage start, first, second;
	uint64_t begin, wall_ns;

	give(there[1], GO);
	take(back[0]);

	start = own_usage();
	begin = clock_ns(CLOCK_MONOTONIC);
	for (long long trip = 0; trip < switches / 2; trip++) {
		rest();
		give(there[1], GO);
		take(back[0]);
	}
	if (switches % 2) /* the last one goes one way: this process blocks for the result */
		rest();
	wall_ns = clock_ns(CLOCK_MONOTONIC) - begin;
	first = used_since(start);
	give(there[1], STOP);
	if (read(result[0], &second, sizeof(second)) != sizeof(second))
		fail("read");
	if (switches % 2) {
		wall_ns = clock_ns(CLOCK_MONOTONIC) - begin;
		first = used_since(start);
	}

	printf("{\"switches\":%lld,\"billed_switches\":%lld,\"wall_ns\":%llu,\"cpu_ns\":%llu,"
	       "\"voluntary\":%ld,\"involuntary\":%ld,\"cpu\":%lld,\"answering_pid\":%d}\n",
	       switches + 2 * pauses, switches + pauses, (unsigned long long)wall_ns,
	       (unsigned long long)(first.cpu_ns + second.cpu_ns),
	       first.voluntary + second.voluntary, first.involuntary + second.involuntary, cpu,
	       child);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct argument arguments[] = {
		{"--switches", &switches, 1, 1ll << 40},
		{"--pause-us", &pause_us, 0, 60000000},
		{"--cpu", &cpu, 0, CPU_SETSIZE - 1},
		{"--turns", &turns, 1, 1ll << 20},
		{0},
	};
	pid_t parent = getpid();

	parse_arguments(argc, argv, arguments);
	if (!switches) {
		fprintf(stderr, "pipe_switch: --switches is missing\n");
		return 2;
	}
	cpu = pin_to(cpu);
	if (cpu < 0)
		fail("pinning to the CPU given by --cpu");
	if (pipe(there) || pipe(back) || pipe(result))
		fail("pipe");
	child = fork();
	if (child < 0)
		fail("fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		answer();
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	take_turns(turns, take_turn);
	close(there[1]);
	waitpid(child, NULL, 0);
	return 0;
}
