// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup_root.h"
#include "collector.h"

/* mountinfo writes blanks, tabs, newlines and backslashes as \ooo */
static void unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at;) {
		if (at[0] == '\\' && at[1] && at[2] && at[3]) {
			*to++ = (at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0');
			at += 4;
		} else {
			*to++ = *at++;
		}
	}
	*to = 0;
}

static bool has_word(char *list, const char *word)
{
	char *save;

	for (char *item = strtok_r(list, ",\n", &save); item; item = strtok_r(NULL, ",\n", &save))
		if (!strcmp(item, word))
			return true;
	return false;
}

/* A mount may lie hidden below another: then its files are not there. */
static bool visible(const char *path, const char *file)
{
	char name[4200];

	snprintf(name, sizeof(name), "%s/%s", path, file);
	return !access(name, R_OK);
}

/* Of one line of mountinfo (proc(5)): 36 35 98:0 /root /target rw … - type source options */
static void take_mount(char *line, char *version1, char *version2, size_t size)
{
	char *right = strstr(line, " - "), *save, *target, *type, *options;

	if (!right)
		return;
	*right = 0;
	strtok_r(line, " ", &save);
	for (int i = 0; i < 3; i++)
		strtok_r(NULL, " ", &save);
	target = strtok_r(NULL, " ", &save);
	type = strtok_r(right + 3, " ", &save);
	strtok_r(NULL, " ", &save);
	options = strtok_r(NULL, " ", &save);
	if (!target || !type)
		return;
	unescape(target);
	if (!visible(target, "cgroup.procs"))
		return;
	if (!strcmp(type, "cgroup2"))
		snprintf(version2, size, "%s", target);
	else if (!strcmp(type, "cgroup") && options && has_word(options, "cpuacct") &&
		 visible(target, "cpuacct.usage"))
		snprintf(version1, size, "%s", target);
}

static bool holds_groups(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	bool found = false;

	while (folder && !found && (entry = readdir(folder)))
		found = entry->d_type == DT_DIR && entry->d_name[0] != '.';
	if (folder)
		closedir(folder);
	return found;
}

bool cgroup_root_look(struct cgroup_root *root, int version)
{
	char version1[sizeof(root->path)] = "", version2[sizeof(root->path)] = "";
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;

	if (!mounts)
		collector_exit(EXIT_UNAVAILABLE, "/proc/self/mountinfo: %s (is /proc mounted?)",
			       strerror(errno));
	while (getline(&line, &size, mounts) > 0)
		take_mount(line, version1, version2, sizeof(version1));
	free(line);
	fclose(mounts);
	if (!version)
		version = *version2 && (!*version1 || holds_groups(version2)) ? 2 : 1;
	root->version = version;
	root->file = version == 1 ? "cpuacct.usage" : "cpu.stat";
	snprintf(root->path, sizeof(root->path), "%s", version == 1 ? version1 : version2);
	return *root->path;
}

void cgroup_root_find(struct cgroup_root *root, int version)
{
	if (!cgroup_root_look(root, version))
		collector_exit(EXIT_UNAVAILABLE,
			       root->version == 1
				       ? "no cgroup v1 hierarchy with the cpuacct controller is "
					 "mounted, nor v2 (mount -t cgroup2 none DIR)"
				       : "no cgroup v2 hierarchy is mounted (mount -t cgroup2 none "
					 "DIR)");
}

bool cgroup_usage_ns(const struct cgroup_root *root, const char *text, uint64_t *usage_ns)
{
	static const char key[] = "usage_usec ";
	const char *number = root->version == 2 ? strstr(text, key) : text;

	if (number && root->version == 2)
		number += sizeof(key) - 1;
	if (!number || *number < '0' || *number > '9')
		return false;
	*usage_ns = strtoull(number, NULL, 10) * (root->version == 2 ? 1000 : 1);
	return true;
}
