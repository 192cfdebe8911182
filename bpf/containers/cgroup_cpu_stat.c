// SPDX-License-Identifier: MIT
/*
 * CPU time of every container, which the kernel adds up by control group anyway. Reads cpu.stat (version 2) or cpuacct.usage (version 1) of every group
 * that has no group below it, through descriptors that stay open; inotify tells of new groups.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup_root.h"
#include "collector.h"
#include "descriptors.h"

#define CHANGES (IN_CREATE | IN_DELETE | IN_MOVE | IN_ONLYDIR)

struct group {
	ino_t id;   /* of the folder: stays when it is renamed, differs when it is made anew */
	char *path; /* below the root */
	int fd;	    /* -1: opened for each read */
	bool listed, leaf;
	bool history; /* was there before it was read: what it had used is not new */
	bool known, reported;
	uint64_t usage_ns;
	uint64_t cpu_ns; /* since the previous scrape */
};

static struct cgroup_root root;
static const char *below = "/";
static long long version;
static struct group *list;
static size_t length, capacity, leaves;
static int events = -1;
static bool unwatched, baseline = true;
static long long vanished, denied, kept, most_kept;

static void make_path(char path[PATH_MAX], const char *group, const char *file)
{
	if (snprintf(path, PATH_MAX, "%s%s/%s", root.path, group, file) >= PATH_MAX)
		collector_exit(EXIT_FAILED, "the path of a control group is too long: %.80s…",
			       group);
}

/* Whether groups may have been made, removed or renamed since the last look. */
static bool groups_changed(void)
{
	char buffer[16384] __attribute__((aligned(8)));
	/* none at all: the one to look below may have gone, which kernfs does not tell, and be back */
	bool changed = unwatched || baseline || !length;

	while (events >= 0 && read(events, buffer, sizeof(buffer)) > 0)
		changed = true;
	return changed;
}

static struct group *group_of(ino_t id, const char *path)
{
	static size_t next; /* groups are mostly found in the order of the last time */
	size_t i = 0, left = length;

	for (i = next < length ? next : 0; left && list[i].id != id; left--)
		i = i + 1 < length ? i + 1 : 0;
	if (!left) {
		if (length == capacity) {
			capacity = capacity ? 2 * capacity : 256;
			list = realloc(list, capacity * sizeof(*list));
			if (!list)
				collector_exit(EXIT_FAILED, "out of memory at %zu groups",
					       capacity);
		}
		i = length++;
		list[i] = (struct group){.id = id, .fd = -1, .history = baseline};
	}
	next = i + 1;
	if (!list[i].path || strcmp(list[i].path, path)) {
		free(list[i].path);
		list[i].path = strdup(path);
		if (!list[i].path)
			collector_exit(EXIT_FAILED, "out of memory at %zu groups", length);
	}
	return &list[i];
}

static void close_group(struct group *group)
{
	if (group->fd < 0)
		return;
	close(group->fd);
	group->fd = -1;
	kept--;
}

/* Lists the groups below one; whether there are any. Watched first: none is made unseen. */
static bool list_groups(const char *group)
{
	char path[PATH_MAX], child[PATH_MAX];
	bool any = false;
	struct dirent *entry;
	struct stat about;
	DIR *folder;

	make_path(path, group, "");
	if (inotify_add_watch(events, path, CHANGES) < 0 && errno != ENOENT)
		unwatched = true; /* too many to watch: looked at each time */
	folder = opendir(path);
	if (!folder) {
		denied += errno == EACCES || errno == EPERM;
		vanished += errno == ENOENT;
		return false;
	}
	while ((entry = readdir(folder))) {
		struct group *found;
		bool inner;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		if (snprintf(child, sizeof(child), "%s/%s", group, entry->d_name) >= PATH_MAX)
			continue;
		any = true;
		if (fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW))
			continue;
		inner = list_groups(child);
		found = group_of(about.st_ino, child); /* only now: the list may have moved */
		found->listed = true;
		if (inner) { /* it is no longer read: what it uses meanwhile will be history */
			close_group(found);
			found->known = false;
			found->history = true;
		}
		found->leaf = !inner;
	}
	closedir(folder);
	return any;
}

static void forget(size_t index)
{
	close_group(&list[index]);
	free(list[index].path);
	list[index] = list[--length];
}

/* False if the group is gone. */
static bool read_group(struct group *group)
{
	char path[PATH_MAX], text[512];
	ssize_t bytes = -1;
	uint64_t usage_ns = 0, base;
	int fd = group->fd, error;

	if (fd < 0) {
		make_path(path, group->path, root.file);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd >= 0)
		bytes = pread(fd, text, sizeof(text) - 1, 0);
	error = errno;
	if (group->fd < 0 && bytes > 0 && kept < most_kept) {
		group->fd = fd;
		kept++;
	} else if (group->fd < 0 && fd >= 0) {
		close(fd);
	}
	group->reported = false;
	if (bytes < 0 && (error == EACCES || error == EPERM)) {
		denied++;
		return true;
	}
	if (bytes < 0 && (error == ENOENT || error == ENODEV)) {
		vanished++;
		return false;
	}
	text[bytes > 0 ? bytes : 0] = 0;
	if (bytes < 0 || !cgroup_usage_ns(&root, text, &usage_ns))
		collector_exit(EXIT_FAILED, "%s%s/%s: %s", root.path, group->path, root.file,
			       bytes < 0 ? strerror(error) : "no CPU time in it");
	base = group->known ? group->usage_ns : group->history ? usage_ns : 0;
	group->cpu_ns = usage_ns > base ? usage_ns - base : 0;
	group->usage_ns = usage_ns;
	group->known = group->reported = true;
	return true;
}

static void look_for_groups(void)
{
	for (size_t i = 0; i < length; i++)
		list[i].listed = false;
	list_groups(strcmp(below, "/") ? below : "");
	for (size_t i = 0; i < length;)
		if (list[i].listed)
			i++;
		else
			forget(i);
}

static uint64_t scrape(void)
{
	uint64_t at_ns = monotonic_ns();

	if (groups_changed())
		look_for_groups();
	leaves = 0;
	for (size_t i = 0; i < length;) {
		if (list[i].leaf && !read_group(&list[i])) {
			forget(i);
			continue;
		}
		leaves += list[i].leaf && list[i].reported;
		i++;
	}
	baseline = false;
	return at_ns;
}

static void open_groups(void)
{
	char path[PATH_MAX];

	cgroup_root_find(&root, version);
	make_path(path, strcmp(below, "/") ? below : "", "");
	if (below[0] != '/' || access(path, R_OK | X_OK))
		collector_exit(EXIT_BAD_ARGUMENTS, "--below %s: no such group in %s (as /kubepods)",
			       below, root.path);
	most_kept = descriptors_to_keep();
	events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	unwatched = events < 0;
}

static void put_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
			fprintf(out, "\\u%04x", *text);
		else
			fputc(*text, out);
	fputc('"', out);
}

static void dump(FILE *out)
{
	const char *comma = "";

	fprintf(out, "\"cgroup_version\":%d,\"containers\":[", root.version);
	for (size_t i = 0; i < length; i++) {
		if (!list[i].leaf || !list[i].reported)
			continue;
		fprintf(out, "%s[", comma);
		put_text(out, list[i].path);
		fprintf(out, ",%llu]", (unsigned long long)list[i].cpu_ns);
		comma = ",";
	}
	fputc(']', out);
}

static void count(struct collector_counts *counts)
{
	counts->records = leaves;
	counts->vanished = vanished;
	counts->denied = denied;
}

/* The one option that is a text; what is left is for everybody. */
static int take_below(int argc, char **argv)
{
	int left = 1;

	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--below") && i + 1 < argc)
			below = argv[++i];
		else
			argv[left++] = argv[i];
	return left;
}

int main(int argc, char **argv)
{
	static const char *const versions[] = {"any", "1", "2", NULL};
	static const struct collector_option options[] = {
		{.name = "--version", .value = &version, .words = versions, .help = "of cgroups"},
		{0},
	};
	static const struct collector cgroup_cpu_stat = {
		.name = "cgroup_cpu_stat",
		.options = options,
		.open = open_groups,
		.scrape = scrape,
		.dump = dump,
		.count = count,
	};

	return collector_main(take_below(argc, argv), argv, &cgroup_cpu_stat);
}
