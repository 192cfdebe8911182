// SPDX-License-Identifier: MIT
/* Programs, processes and privileges. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load_events.h"

static char step[PATH_MAX + 16];
static int step_fd = -1, empty = -1;
static pid_t idler;

static void find_step(void)
{
	char self[PATH_MAX] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		load_failed("/proc/self/exe");
	snprintf(step, sizeof(step), "%s/exec_step", dirname(self));
	step_fd = open(step, O_PATH | O_CLOEXEC);
	if (step_fd < 0)
		load_failed(step);
}

static void wait_for(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status) {
		fprintf(stderr, "sensor_load: a child of it failed\n");
		exit(1);
	}
}

/* exec_step ends at once if no step is left to it. */
static char *const words[] = {"exec_step", "0", "0", NULL}, *const nothing[] = {NULL};

static void execute(void)
{
	pid_t child = vfork();

	if (child < 0)
		load_failed("vfork");
	if (!child) {
		execve(step, words, nothing);
		_exit(1);
	}
	wait_for(child);
}

static void execute_at(void)
{
	pid_t child = vfork();

	if (child < 0)
		load_failed("vfork");
	if (!child) {
		syscall(SYS_execveat, step_fd, "", words, nothing, AT_EMPTY_PATH);
		_exit(1);
	}
	wait_for(child);
}

static void fork_and_exit(void)
{
	pid_t child = fork();

	if (child < 0)
		load_failed("fork");
	if (!child)
		_exit(0);
	wait_for(child);
}

/* What a build does: a program, and the files that it opens. */
static void programs(void)
{
	execute();
	for (int i = 0; i < 8; i++)
		file_events[1].make();
}

/* The saved id stays that of root, so that the way back is open. */
static void change_user(void)
{
	static uid_t user = 65534;

	if (setresuid(-1, user, -1))
		load_unavailable("setresuid");
	user = user ? 0 : 65534;
}

static void start_idler(void)
{
	pid_t parent = getpid();

	idler = fork();
	if (idler < 0)
		load_failed("fork");
	if (idler)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (;;)
		pause();
}

static void trace(void)
{
	int status;

	if (ptrace(PTRACE_ATTACH, idler, NULL, NULL))
		load_unavailable("ptrace");
	if (waitpid(idler, &status, __WALL) != idler || ptrace(PTRACE_DETACH, idler, NULL, NULL))
		load_failed("ptrace");
}

static void signal_nothing(void)
{
	if (kill(getpid(), 0))
		load_failed("kill");
}

/* There is no program of so high an id: the question is refused after the hook has seen it. */
static void ask_bpf(void)
{
	union bpf_attr question = {.start_id = INT_MAX - 1};

	if (!syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &question, sizeof(question)) || errno != ENOENT)
		load_unavailable("bpf");
}

static void make_empty_module(void)
{
	empty = memfd_create("no module", MFD_CLOEXEC);
	if (empty < 0 || write(empty, "none", 4) != 4)
		load_failed("a file in memory");
	syscall(SYS_finit_module, empty, "", 0);
	if (errno == ENOSYS || errno == EPERM)
		load_unavailable("loading modules");
}

/* It is read, which the hook sees, and found to be none. */
static void load_module(void)
{
	if (!syscall(SYS_finit_module, empty, "", 0) || errno != ENOEXEC)
		load_failed("finit_module");
}

const struct event task_events[] = {
	{"execve", "a child executes a tiny program", find_step, execute},
	{"execveat", "the same by execveat(2)", find_step, execute_at},
	{"programs", "the first, and 8 opened files", find_step, programs},
	{"fork", "a child that ends at once", NULL, fork_and_exit},
	{"setuid", "setresuid(2), to and fro", NULL, change_user},
	{"ptrace", "attaching to a sleeping child, and detaching", start_idler, trace},
	{"kill", "kill(2) of itself with no signal", NULL, signal_nothing},
	{"bpf", "bpf(2), a question", NULL, ask_bpf},
	{"module", "finit_module(2) of what is no module", make_empty_module, load_module},
	{0},
};
