// SPDX-License-Identifier: MIT
/*
 * idle_processes --count N: N children that do nothing until SIGTERM or the parent's death.
 * Writes "ready" on fd 3 (if open) once all exist.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "limits.h"

#define READY_FD 3

static long long count;
static pid_t *children;

static void be_idle(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before the line above */
		_exit(1);
	for (;;)
		pause();
}

static void end_children(long long number)
{
	for (long long i = 0; i < number; i++)
		kill(children[i], SIGKILL);
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

static void start_children(void)
{
	char reason[8192];
	pid_t parent = getpid();

	for (long long i = 0; i < count; i++) {
		children[i] = fork();
		if (!children[i])
			be_idle(parent);
		if (children[i] > 0)
			continue;
		if (errno == EAGAIN)
			explain_process_limit(reason, sizeof(reason));
		else
			snprintf(reason, sizeof(reason), "%s", strerror(errno));
		end_children(i);
		fprintf(stderr, "idle_processes: cannot start process %lld of %lld: %s\n", i + 1,
			count, reason);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static const struct argument arguments[] = {{"--count", &count, 1, 4000000}, {0}};
	int ready, signal_number;
	sigset_t end;

	ready = fcntl(READY_FD, F_GETFD) >= 0;
	parse_arguments(argc, argv, arguments);
	if (!count) {
		fprintf(stderr, "idle_processes: --count is missing\n");
		return 2;
	}
	children = calloc(count, sizeof(*children));
	if (!children) {
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
