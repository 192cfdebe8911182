// SPDX-License-Identifier: MIT
/*
 * switch_load --rate R --tasks K [--counters FILE]: until SIGTERM or the parent's death K processes,
 * in pairs, make R context switches a second in all; each of them R / K. A pair stays on one CPU, the
 * pairs are spread over the CPUs. Writes "ready" on fd 3 (if open) once all are at work.
 *
 * The first of a pair hands a byte to the second at times that are fixed beforehand, so that nothing
 * drifts. A hand-over is two switches: the second sleeps until the next one, and so does the first;
 * if it is late, it waits for an answer instead, which is a switch too, and goes on at once. So what
 * is missed is made up for, up to 50 ms, and a rate that cannot be reached is the highest that can.
 *
 * FILE: a line of 64 bytes for each task. It begins with two numbers of 64 bits in the machine's byte
 * order, by the kernel's count: its switches so far, and those of them that it made of its own will;
 * the others are the machine's, which let something else run. Brought up to date at each hand-over,
 * or a thousand times a second.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "clock.h"
#include "limits.h"
#include "pin.h"

#define READY_FD     3
#define GIVE	     'g' /* no answer is waited for */
#define ASK	     'a'
#define NOTES_PER_S  1000
#define MOST_BETWEEN 64 /* a rate may be out of reach */
#define MOST_LATE_NS 50000000

struct counter {
	uint64_t switches, voluntary;
	char rest[48]; /* a cache line each */
};

static long long rate, tasks;
static struct counter *counters;
static int go[2], ready;

static void fail(const char *what)
{
	fprintf(stderr, "switch_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void note(long long task)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	__atomic_store_n(&counters[task].switches, used.ru_nvcsw + used.ru_nivcsw,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&counters[task].voluntary, used.ru_nvcsw, __ATOMIC_RELAXED);
}

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

static void lead(long long pair, int there, int back)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC), next, now;
	long long every = between_notes();

	for (long long n = 1;; n++) {
		next = start + due(n, pair);
		now = clock_ns(CLOCK_MONOTONIC);
		if (next + MOST_LATE_NS < now) {
			start += now - next;
			next = now;
		}
		if (next > now) {
			struct timespec until = {next / 1000000000, next % 1000000000};

			give(there, GIVE);
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		} else {
			give(there, ASK);
			take(back);
		}
		if (n % every == 0)
			note(2 * pair);
	}
}

static void follow(long long pair, int there, int back)
{
	long long every = between_notes();

	for (long long n = 1;; n++) {
		if (take(there) == ASK)
			give(back, ASK);
		if (n % every == 0)
			note(2 * pair + 1);
	}
}

static void work(long long task, pid_t parent, const int there[2], const int back[2])
{
	cpu_set_t allowed;
	int cpus, cpu = -1;
	long long place;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before the line above */
		_exit(1);
	close(go[1]);
	if (ready > 0)
		close(ready);
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		_exit(1);
	cpus = CPU_COUNT(&allowed);
	for (place = task / 2 % cpus; place >= 0; place--)
		for (cpu++; !CPU_ISSET(cpu, &allowed); cpu++)
			;
	if (pin_to(cpu) < 0)
		_exit(1);
	note(task);
	if (read(go[0], &byte, 1)) /* its end: all are there */
		_exit(1);
	close(go[0]);
	if (task % 2)
		follow(task / 2, there[0], back[1]);
	lead(task / 2, there[1], back[0]);
}

static void start(pid_t *children)
{
	char reason[8192];
	pid_t parent = getpid();
	int there[2], back[2];

	if (pipe2(go, O_CLOEXEC))
		fail("pipe");
	for (long long i = 0; i < tasks; i++) {
		if (i % 2 == 0 && (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC)))
			fail("pipe");
		children[i] = fork();
		if (!children[i])
			work(i, parent, there, back);
		if (children[i] < 0) { /* those that were started die with this process */
			if (errno == EAGAIN)
				explain_process_limit(reason, sizeof(reason));
			else
				snprintf(reason, sizeof(reason), "%s", strerror(errno));
			fprintf(stderr, "switch_load: cannot start task %lld of %lld: %s\n", i + 1,
				tasks, reason);
			exit(1);
		}
		if (i % 2) { /* the pair holds its pipes, and nobody else does */
			close(there[0]);
			close(there[1]);
			close(back[0]);
			close(back[1]);
		}
	}
	close(go[0]);
	close(go[1]);
}

static void share_counters(const char *path)
{
	size_t size = tasks * sizeof(*counters);
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
	static const struct argument arguments[] = {
		{"--rate", &rate, 1, 100000000}, {"--tasks", &tasks, 2, 100000}, {0}};

	if (argc > 2 && !strcmp(argv[argc - 2], "--counters")) {
		*path = argv[argc - 1];
		argc -= 2;
	}
	parse_arguments(argc, argv, arguments);
	if (!rate || !tasks || tasks % 2) {
		fprintf(stderr, "switch_load: %s\n",
			!rate	 ? "--rate is missing"
			: !tasks ? "--tasks is missing"
				 : "--tasks must be even: tasks come in pairs");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	const char *path = NULL;
	int signal_number;
	pid_t *children;
	sigset_t end;

	ready = fcntl(READY_FD, F_GETFD) >= 0;
	parse(argc, argv, &path);
	if (ready) { /* out of the way of the pairs' pipes */
		ready = fcntl(READY_FD, F_DUPFD_CLOEXEC, 10);
		close(READY_FD);
	}
	share_counters(path);
	children = calloc(tasks, sizeof(*children));
	if (!children)
		fail("memory");
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	sigaddset(&end, SIGCHLD);
	sigprocmask(SIG_BLOCK, &end, NULL);
	start(children);
	if (ready > 0 && write(ready, "ready\n", 6) != 6)
		fprintf(stderr, "switch_load: nobody reads fd %d\n", READY_FD);
	while (sigwait(&end, &signal_number))
		;
	for (long long i = 0; i < tasks; i++)
		kill(children[i], SIGKILL);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	if (signal_number == SIGCHLD)
		fprintf(stderr, "switch_load: a task of it has ended\n");
	return signal_number == SIGCHLD;
}
