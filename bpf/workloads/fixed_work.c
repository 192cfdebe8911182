// SPDX-License-Identifier: MIT
/*
 * fixed_work --execs N | --opens N | --sends N [--pause-us U] [--cpu C] [--turns T]: N events of one
 * kind on one CPU, nothing else. Hot (no pause): back to back. Paced: U microseconds of sleep before
 * each event, so that the CPU goes idle. T turns of as many, each begun by a byte on standard input,
 * or one turn at once.
 *
 *   execs  one process executes the tiny static program exec_step N times over; each time it is that
 *          program which executes itself again
 *   opens  openat(2) of /dev/null, and close(2)
 *   sends  sendto(2) of one byte over a socket pair, and recvfrom(2): the queue never grows
 *
 * Prints one JSON line a turn:
 *   events   N
 *   wall_ns  from before the first to after the last
 *   work_ns  what the events took. Hot: CPU time of the process. Paced: for opens and sends the sum
 *            over the events of their own time, since waking up would drown it. For execs CPU time
 *            in both, by the kernel's account of the dead process, which was forked for them alone
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "clock.h"
#include "pin.h"
#include "turns.h"

static long long execs, opens, sends, pause_us, cpu = -1, turns;

static void fail(const char *what)
{
	fprintf(stderr, "fixed_work: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void rest(void)
{
	if (pause_us)
		sleep_ns(pause_us * 1000);
}

/* Nobody else is on the CPU while an event lasts, and this clock needs no system call. */
#define HOT   CLOCK_PROCESS_CPUTIME_ID
#define PACED CLOCK_MONOTONIC

static void open_file(void)
{
	int fd = openat(AT_FDCWD, "/dev/null", O_RDONLY);

	if (fd < 0)
		fail("/dev/null");
	close(fd);
}

static int pair[2];

static void send_byte(void)
{
	char byte = 0;

	if (sendto(pair[0], &byte, 1, 0, NULL, 0) != 1)
		fail("sendto");
	if (recvfrom(pair[1], &byte, 1, 0, NULL, NULL) != 1)
		fail("recvfrom");
}

static uint64_t make(long long events, void (*event)(void))
{
	uint64_t start, sum = 0;

	event(); /* what only the first one does is none of the rest's */
	if (!pause_us) {
		start = clock_ns(HOT);
		for (long long i = 0; i < events; i++)
			event();
		return clock_ns(HOT) - start;
	}
	for (long long i = 0; i < events; i++) {
		rest();
		start = clock_ns(PACED);
		event();
		sum += clock_ns(PACED) - start;
	}
	return sum;
}

static void begin_steps(pid_t parent)
{
	char here[PATH_MAX] = "", step[PATH_MAX + 16], left[24], pause[24];
	char *const words[] = {step, left, pause, NULL};

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* lasts through each execution */
	if (getppid() != parent)
		_exit(1);
	if (readlink("/proc/self/exe", here, sizeof(here) - 1) < 0)
		fail("/proc/self/exe");
	snprintf(step, sizeof(step), "%s/exec_step", dirname(here));
	snprintf(left, sizeof(left), "%lld", execs - 1);
	snprintf(pause, sizeof(pause), "%lld", pause_us);
	rest();
	execve(step, words, (char *const[]){NULL});
	fprintf(stderr, "fixed_work: %s: %s\n", step, strerror(errno));
	_exit(1);
}

static uint64_t execute_programs(void)
{
	pid_t parent = getpid(), child = fork();
	struct rusage used;
	int status;

	if (child < 0)
		fail("fork");
	if (!child)
		begin_steps(parent);
	if (wait4(child, &status, 0, &used) != child)
		fail("wait4");
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "fixed_work: the execution of exec_step failed\n");
		exit(1);
	}
	return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000ull +
	       (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000ull;
}

static void take_turn(void)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), work_ns;

	work_ns = execs	  ? execute_programs()
		  : opens ? make(opens, open_file)
			  : make(sends, send_byte);
	printf("{\"events\":%lld,\"wall_ns\":%llu,\"work_ns\":%llu,\"cpu\":%lld}\n",
	       execs + opens + sends, (unsigned long long)(clock_ns(CLOCK_MONOTONIC) - begin),
	       (unsigned long long)work_ns, cpu);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct argument arguments[] = {
		{"--execs", &execs, 1, 1ll << 40},
		{"--opens", &opens, 1, 1ll << 40},
		{"--sends", &sends, 1, 1ll << 40},
		{"--pause-us", &pause_us, 0, 999999},
		{"--cpu", &cpu, 0, CPU_SETSIZE - 1},
		{"--turns", &turns, 1, 1ll << 20},
		{0},
	};

	parse_arguments(argc, argv, arguments);
	if (!!execs + !!opens + !!sends != 1) {
		fprintf(stderr, "fixed_work: give one of --execs, --opens, --sends\n");
		return 2;
	}
	cpu = pin_to(cpu);
	if (cpu < 0)
		fail("pinning to the CPU given by --cpu");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		fail("socketpair");
	take_turns(turns, take_turn);
	return 0;
}
