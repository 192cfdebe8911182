/* SPDX-License-Identifier: MIT */
#ifndef PROBETAX_CGROUP_ROOT_H
#define PROBETAX_CGROUP_ROOT_H

#include <stdbool.h>
#include <stdint.h>

/* A hierarchy of control groups that counts CPU time, as this process sees it. */
struct cgroup_root {
	int version;	  /* 1 or 2 */
	const char *file; /* in each group: cpuacct.usage, in ns, or cpu.stat, in us */
	char path[4096];  /* where it is mounted */
};

/*
 * Finds the hierarchy through /proc/self/mountinfo: version 1 or 2, or with 0 the second where it
 * holds any group, else the first where that is mounted. Ends as unavailable if there is none.
 */
void cgroup_root_find(struct cgroup_root *root, int version);
/* The same for who can do without: false if there is none. */
bool cgroup_root_look(struct cgroup_root *root, int version);

/* CPU time of a group so far, from the text of its file; false if it is not there. */
bool cgroup_usage_ns(const struct cgroup_root *root, const char *text, uint64_t *usage_ns);

#endif
