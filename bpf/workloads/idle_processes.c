// SPDX-License-Identifier: MIT
/*
 * idle_processes --count N [--threads T]: N children of T threads each that do nothing until SIGTERM
 * or the parent's death. Writes "ready" on fd 3 (if open) once all exist.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "limits.h"

#define READY_FD 3

static long long count, threads = 1;
static pid_t *children;
static int whole[2]; /* a byte from each child that has all its threads */

static void *sleep_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

/* Threads of the smallest stack. Returns what pthread_create() does. */
static int start_threads(void)
{
	pthread_attr_t small;
	pthread_t thread;
	int error = pthread_attr_init(&small);

	if (!error)
		error = pthread_attr_setstacksize(&small, sysconf(_SC_THREAD_STACK_MIN));
	for (long long i = 1; i < threads && !error; i++)
		error = pthread_create(&thread, &small, sleep_on, NULL);
	return error;
}

static void be_idle(pid_t parent)
{
	unsigned char error;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before the line above */
		_exit(1);
	if (threads > 1) {
		error = start_threads();
		if (write(whole[1], &error, 1) != 1)
			_exit(1);
		close(whole[1]);
	}
	sleep_on(NULL);
}

static void end_children(long long number)
{
	for (long long i = 0; i < number && children[i] > 0; i++)
		kill(children[i], SIGKILL);
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

static void give_up(const char *what, long long number, int error)
{
	char reason[8192];

	if (error == EAGAIN)
		explain_process_limit(reason, sizeof(reason));
	else
		snprintf(reason, sizeof(reason), "%s",
			 error == ECHILD ? "it was killed" : strerror(error));
	end_children(count);
	fprintf(stderr, "idle_processes: cannot start %s %lld of %lld: %s\n", what, number, count,
		reason);
	exit(1);
}

static void start_children(void)
{
	pid_t parent = getpid();
	unsigned char error;

	for (long long i = 0; i < count; i++) {
		children[i] = fork();
		if (!children[i])
			be_idle(parent);
		if (children[i] < 0)
			give_up("process", i + 1, errno);
	}
	if (threads > 1) /* its end, if one of them is killed before it has said anything */
		close(whole[1]);
	for (long long i = 0; i < count && threads > 1; i++) {
		error = ECHILD;
		if (read(whole[0], &error, 1) != 1 || error)
			give_up("the threads of process", i + 1, error);
	}
}

int main(int argc, char **argv)
{
	static const struct argument arguments[] = {
		{"--count", &count, 1, 4000000}, {"--threads", &threads, 1, 10000}, {0}};
	int ready, signal_number;
	sigset_t end;

	ready = fcntl(READY_FD, F_GETFD) >= 0;
	parse_arguments(argc, argv, arguments);
	if (!count) {
		fprintf(stderr, "idle_processes: --count is missing\n");
		return 2;
	}
	children = calloc(count, sizeof(*children));
	if (!children || (threads > 1 && pipe2(whole, O_CLOEXEC))) {
		fprintf(stderr, "idle_processes: out of memory\n");
		return 1;
	}
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	sigprocmask(SIG_BLOCK, &end, NULL);
	if (ready) /* the children must not hold the reader's pipe open */
		ready = fcntl(READY_FD, F_DUPFD_CLOEXEC, 10);
	start_children();
	if (ready > 0 && write(ready, "ready\n", 6) != 6)
		fprintf(stderr, "idle_processes: nobody reads fd %d\n", READY_FD);
	while (sigwait(&end, &signal_number))
		;
	end_children(count);
	return 0;
}
