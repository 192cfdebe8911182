// SPDX-License-Identifier: MIT
/* What a collector's surroundings must give, asked before anything is loaded. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader.h"

#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu /* PROC_PID_INIT_INO: a fixed inode number */
#define TRACEFS		      "/sys/kernel/tracing"

void loader_need_initial_pid_namespace(void)
{
	struct stat namespace;

	if (stat("/proc/self/ns/pid", &namespace))
		collector_exit(EXIT_UNAVAILABLE, "/proc/self/ns/pid: %s", strerror(errno));
	if (namespace.st_ino != INITIAL_PID_NAMESPACE)
		collector_exit(EXIT_UNAVAILABLE,
			       "this is process id namespace %llu, not the initial one: the ids a "
			       "kernel program sees would not be those in /proc; run on the host",
			       (unsigned long long)namespace.st_ino);
}

void loader_need_tracefs(void)
{
	if (!access(TRACEFS "/events", F_OK) || !access("/sys/kernel/debug/tracing/events", F_OK))
		return;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tracefs", TRACEFS, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		collector_exit(EXIT_UNAVAILABLE, "tracefs is not mounted and cannot be: %s",
			       strerror(errno));
}

unsigned int loader_possible_cpus(uint64_t *bits, unsigned int limit)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "r");
	unsigned int first, last = 0;

	if (!file)
		collector_exit(EXIT_FAILED, "/sys/devices/system/cpu/possible: %s",
			       strerror(errno));
	/* ranges such as 0-3,8,10-11 */
	while (fscanf(file, "%u", &first) == 1) {
		int mark = fgetc(file);

		last = first;
		if (mark == '-' && fscanf(file, "%u", &last) == 1)
			mark = fgetc(file);
		for (unsigned int cpu = first; bits && cpu <= last; cpu++) {
			if (cpu >= limit)
				collector_exit(EXIT_UNAVAILABLE,
					       "CPU number %u is beyond the %u that this "
					       "collector can read",
					       cpu, limit);
			bits[cpu / 64] |= 1ull << cpu % 64;
		}
		if (mark != ',')
			break;
	}
	fclose(file);
	return last + 1;
}
