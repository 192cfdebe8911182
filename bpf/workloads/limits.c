// SPDX-License-Identifier: MIT
/* fork() says EAGAIN for five different limits; this finds the one that is used up. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "limits.h"

/* The kernel leaves the lowest ids to its own threads once it has gone round. */
#define RESERVED_PIDS 300

static int read_number(const char *path, long long *number)
{
	FILE *file = fopen(path, "r");
	int found = 0;

	if (!file)
		return 0;
	found = fscanf(file, "%lld", number) == 1; /* "max" is no number: no limit */
	fclose(file);
	return found;
}

/* Where the pids controller is mounted, and which directory of its tree is mounted there. */
static int find_pids_mount(char root[1024], char point[1024], int *v2)
{
	char line[4096], *options;
	FILE *file = fopen("/proc/self/mountinfo", "r");
	int found = 0;

	while (file && !found && fgets(line, sizeof(line), file)) {
		options = strstr(line, " - ");
		if (!options || sscanf(line, "%*s %*s %*s %1023s %1023s", root, point) != 2)
			continue;
		*v2 = !strncmp(options, " - cgroup2 ", 11);
		found = !strncmp(options, " - cgroup ", 10) && strstr(options, "pids");
		if (*v2) {
			char path[2100];

			snprintf(path, sizeof(path), "%s/cgroup.controllers", point);
			FILE *controllers = fopen(path, "r");

			if (controllers && fgets(line, sizeof(line), controllers))
				found = strstr(line, "pids") != NULL;
			if (controllers)
				fclose(controllers);
		}
	}
	if (file)
		fclose(file);
	return found;
}

/* The first cgroup, from our own upwards, whose pids.max is reached. */
static int full_cgroup(char *full, size_t size, long long *limit)
{
	char line[1200], root[1024], point[1024], path[4096], name[4200];
	char *own = NULL, *slash;
	int v2 = 0;
	long long now;
	FILE *file;

	if (!find_pids_mount(root, point, &v2))
		return 0;
	file = fopen("/proc/self/cgroup", "r");
	while (file && !own && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		own = v2		      ? (strncmp(line, "0::", 3) ? NULL : line + 3)
		      : strstr(line, "pids:") ? strchr(strstr(line, "pids:"), '/')
					      : NULL;
	}
	if (file)
		fclose(file);
	if (!own)
		return 0;
	if (strcmp(root, "/") && !strncmp(own, root, strlen(root)))
		own += strlen(root);
	snprintf(path, sizeof(path), "%s%s", point, own);
	while (strlen(path) >= strlen(point)) {
		snprintf(name, sizeof(name), "%s/pids.max", path);
		if (read_number(name, limit)) {
			snprintf(name, sizeof(name), "%s/pids.current", path);
			if (read_number(name, &now) && now >= *limit) {
				snprintf(full, size, "%s", path);
				return 1;
			}
		}
		slash = strrchr(path, '/');
		if (!slash || slash == path)
			break;
		*slash = 0;
	}
	return 0;
}

void explain_process_limit(char *text, size_t size)
{
	long long pid_max = 0, threads_max = 0, limit = 0;
	struct rlimit processes;
	struct sysinfo info;
	char cgroup[4096];

	getrlimit(RLIMIT_NPROC, &processes);
	sysinfo(&info); /* procs: every task, threads too */
	read_number("/proc/sys/kernel/pid_max", &pid_max);
	read_number("/proc/sys/kernel/threads-max", &threads_max);
	if (full_cgroup(cgroup, sizeof(cgroup), &limit))
		snprintf(text, size, "pids.max of %s is %lld and reached: raise it", cgroup, limit);
	else if (pid_max && info.procs + RESERVED_PIDS >= pid_max)
		snprintf(text, size, "kernel.pid_max is %lld: sysctl kernel.pid_max=4194304",
			 pid_max);
	else if (threads_max && info.procs >= threads_max)
		snprintf(text, size, "kernel.threads-max is %lld: raise it with sysctl",
			 threads_max);
	else
		snprintf(
			text, size,
			"RLIMIT_NPROC of this user is %lld: raise it with ulimit -u or run as root",
			(long long)processes.rlim_cur);
}
