// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <mntent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector.h"
#include "fork_counter.h"

#define MOST_BYTES (1 << 20) /* two bytes for each interrupt and 100 for each CPU */

static const char line[] = "\nprocesses ";
static int stat_fd = -1;
static char *text;
static size_t capacity = 1 << 14;
static uint64_t last;

/* 0: not found. One read hands over the whole file if it fits. */
static uint64_t forks_since_boot(void)
{
	for (;;) {
		ssize_t length = pread(stat_fd, text, capacity - 1, 0);
		const char *found;

		if (length <= 0)
			return 0;
		text[length] = 0;
		/* the digits are whole only if more follows them */
		found = memmem(text, length, line, sizeof(line) - 1);
		if (found && strchr(found + 1, '\n'))
			return strtoull(found + sizeof(line) - 1, NULL, 10);
		if ((size_t)length < capacity - 1 || capacity >= MOST_BYTES)
			return 0;
		capacity *= 2;
		text = realloc(text, capacity);
		if (!text)
			collector_exit(EXIT_FAILED, "out of memory at %zu bytes of /proc/stat",
				       capacity);
	}
}

/* Processes that hidepid hides come into sight without a fork, when they change their user. */
static bool some_are_hidden(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *mount;
	bool hidden = !mounts;

	while (mounts && (mount = getmntent(mounts))) {
		const char *option = hasmntopt(mount, "hidepid");

		if (!strcmp(mount->mnt_dir, "/proc")) /* the last one is on top */
			hidden = option && strncmp(option, "hidepid=0", 9) &&
				 strncmp(option, "hidepid=off", 11);
	}
	if (mounts)
		endmntent(mounts);
	return hidden;
}

static bool counts_a_fork(void)
{
	uint64_t before = forks_since_boot();
	pid_t child = before ? fork() : -1;

	if (!child)
		_exit(0);
	return child > 0 && waitpid(child, NULL, 0) == child && forks_since_boot() > before;
}

void fork_counter_open(void)
{
	stat_fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	text = malloc(capacity);
	if (!text)
		collector_exit(EXIT_FAILED, "out of memory at %zu bytes of /proc/stat", capacity);
	/* sandboxes and file systems in user space answer with a constant */
	if (stat_fd >= 0 && (some_are_hidden() || !counts_a_fork())) {
		close(stat_fd);
		stat_fd = -1;
	}
}

bool fork_counter_moved(void)
{
	uint64_t forks = stat_fd < 0 ? 0 : forks_since_boot();
	bool moved = !forks || forks != last;

	last = forks;
	return moved;
}
