// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "clock.h"
#include "crowd.h"
#include "limits.h"

#define READY_FD 3

static const struct crowd *here;
static struct counter *counters;
static int go[2], ready;

void crowd_fail(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", here->program, what, strerror(errno));
	exit(1);
}

const char *crowd_counters(int *argc, char **argv)
{
	if (*argc <= 2 || strcmp(argv[*argc - 2], "--counters"))
		return NULL;
	*argc -= 2;
	return argv[*argc + 1];
}

void crowd_note(long long task)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	__atomic_store_n(&counters[task].switches, used.ru_nvcsw + used.ru_nivcsw,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&counters[task].voluntary, used.ru_nvcsw, __ATOMIC_RELAXED);
}

struct counter crowd_total(void)
{
	struct counter total = {0};

	for (long long i = 0; i < here->count; i++) {
		total.switches += counters[i].switches;
		total.voluntary += counters[i].voluntary;
	}
	return total;
}

static void share_counters(const char *path)
{
	size_t size = here->count * sizeof(*counters);
	int file = -1;

	if (path) {
		file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (file < 0 || ftruncate(file, size))
			crowd_fail(path);
	}
	counters = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | (path ? 0 : MAP_ANONYMOUS),
			file, 0);
	if (counters == MAP_FAILED)
		crowd_fail("the counters");
}

static void become(long long task, pid_t parent, const sigset_t *before)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before the line above */
		_exit(1);
	sigprocmask(SIG_SETMASK, before, NULL);
	close(go[1]);
	if (ready > 0)
		close(ready);
	if (here->settle)
		here->settle(task);
	if (read(go[0], &byte, 1)) /* its end: all are there */
		_exit(1);
	close(go[0]);
	here->work(task);
	_exit(1);
}

/* Those that were started die with this process. */
static void explain_and_exit(long long task)
{
	char reason[8192];

	if (errno == EAGAIN)
		explain_process_limit(reason, sizeof(reason));
	else
		snprintf(reason, sizeof(reason), "%s", strerror(errno));
	fprintf(stderr, "%s: cannot start task %lld of %lld: %s\n", here->program, task + 1,
		here->count, reason);
	exit(1);
}

static void start(pid_t *children, const sigset_t *before)
{
	pid_t parent = getpid();

	if (pipe2(go, O_CLOEXEC))
		crowd_fail("pipe");
	for (long long i = 0; i < here->count; i++) {
		if (here->before)
			here->before(i);
		children[i] = fork();
		if (!children[i])
			become(i, parent, before);
		if (children[i] < 0)
			explain_and_exit(i);
		if (here->after)
			here->after(i);
	}
	close(go[0]);
	close(go[1]);
}

/* Waits for the end; the signal that brought it, or -1: the time is over. */
static int wait_for_end(const sigset_t *end)
{
	struct timespec left = {here->seconds, 0};
	int number;

	do {
		number = here->seconds ? sigtimedwait(end, NULL, &left) : sigwaitinfo(end, NULL);
	} while (number < 0 && errno == EINTR);
	return number;
}

int crowd_run(const struct crowd *crowd)
{
	sigset_t end, before;
	uint64_t began;
	pid_t *children;
	int number;

	here = crowd;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* and the tasks with it */
	ready = fcntl(READY_FD, F_GETFD) >= 0;
	if (ready) { /* out of the way of the tasks' own descriptors */
		ready = fcntl(READY_FD, F_DUPFD_CLOEXEC, 10);
		close(READY_FD);
	}
	share_counters(crowd->counters);
	children = calloc(crowd->count, sizeof(*children));
	if (!children)
		crowd_fail("memory");
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	sigaddset(&end, SIGCHLD);
	sigprocmask(SIG_BLOCK, &end, &before);
	start(children, &before);
	began = clock_ns(CLOCK_MONOTONIC);
	if (ready > 0 && write(ready, "ready\n", 6) != 6)
		fprintf(stderr, "%s: nobody reads fd %d\n", crowd->program, READY_FD);
	number = wait_for_end(&end);
	for (long long i = 0; i < crowd->count; i++)
		kill(children[i], SIGKILL);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	if (crowd->ended)
		crowd->ended((clock_ns(CLOCK_MONOTONIC) - began) / 1e9);
	if (number == SIGCHLD)
		fprintf(stderr, "%s: a task of it has ended\n", crowd->program);
	return number == SIGCHLD;
}
