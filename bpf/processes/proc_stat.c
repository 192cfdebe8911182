// SPDX-License-Identifier: MIT
/*
 * Polling as most agents do it: each interval, list /proc, and for every process open, read and
 * parse /proc/<pid>/stat. A step by step counterpart of the article's reader, which threw the
 * values away; this one keeps them, keyed by process id and start time.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector.h"
#include "processes.h"

#define STAT_BYTES 4096 /* the kernel hands over the whole line in one read if it fits */

struct sample {
	uint32_t pid;
	uint64_t start_ticks;
	uint64_t cpu_ticks; /* user + system */
};

struct sample_table {
	struct sample *list;
	size_t length, capacity;
	uint32_t *index; /* position + 1 in list, by hash of pid; 0: free */
	size_t buckets;	 /* a power of two */
};

static struct sample_table before, now;
static struct process_facts facts = {.idle_ns = -1};
static uint64_t tick_ns;
static long long vanished, denied;
static bool baseline = true;

static size_t bucket_of(const struct sample_table *table, uint32_t pid)
{
	return pid * 2654435761u & (table->buckets - 1);
}

static void add_sample(struct sample_table *table, const struct sample *sample)
{
	if (table->length == table->capacity) {
		table->capacity = table->capacity ? 2 * table->capacity : 1024;
		table->list = realloc(table->list, table->capacity * sizeof(*table->list));
		if (!table->list)
			collector_exit(EXIT_FAILED, "out of memory at %zu processes",
				       table->capacity);
	}
	table->list[table->length++] = *sample;
}

static void index_samples(struct sample_table *table)
{
	if (table->buckets < 2 * table->capacity) {
		table->buckets = 2 * table->capacity;
		free(table->index);
		table->index = malloc(table->buckets * sizeof(*table->index));
		if (!table->index)
			collector_exit(EXIT_FAILED, "out of memory at %zu buckets", table->buckets);
	}
	memset(table->index, 0, table->buckets * sizeof(*table->index));
	for (size_t i = 0; i < table->length; i++) {
		size_t b = bucket_of(table, table->list[i].pid);

		while (table->index[b])
			b = (b + 1) & (table->buckets - 1);
		table->index[b] = i + 1;
	}
}

static const struct sample *find_sample(const struct sample_table *table, uint32_t pid,
					uint64_t start_ticks)
{
	size_t b;

	if (!table->buckets)
		return NULL;
	for (b = bucket_of(table, pid); table->index[b]; b = (b + 1) & (table->buckets - 1)) {
		const struct sample *sample = &table->list[table->index[b] - 1];

		if (sample->pid == pid && sample->start_ticks == start_ticks)
			return sample;
	}
	return NULL;
}

/* The name may hold any byte, blanks, newlines and brackets too: fields start after the LAST ')'. */
static bool parse_stat(const char *text, size_t length, struct sample *sample)
{
	unsigned long long user, system, start;
	const char *fields = memrchr(text, ')', length);

	if (!fields ||
	    sscanf(fields + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d "
		   "%*d %llu",
		   &user, &system, &start) != 3)
		return false;
	sample->cpu_ticks = user + system;
	sample->start_ticks = start;
	return true;
}

static bool read_stat(const char *name, struct sample *sample)
{
	char path[300], text[STAT_BYTES];
	ssize_t length = -1;
	int fd, error = 0;

	snprintf(path, sizeof(path), "/proc/%s/stat", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		length = read(fd, text, sizeof(text) - 1);
	if (length < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	if (error == EPERM || error == EACCES) {
		denied++;
		return false;
	}
	if (error == EMFILE || error == ENFILE || error == ENOMEM)
		collector_exit(EXIT_FAILED, "%s: %s", path, strerror(error));
	if (length <= 0) { /* ENOENT at open, ESRCH or nothing at read */
		vanished++;
		return false;
	}
	text[length] = 0;
	sample->pid = strtoul(name, NULL, 10);
	if (!parse_stat(text, length, sample))
		collector_exit(EXIT_FAILED, "%s has a form this program does not know", path);
	return true;
}

static void keep_fact(const struct sample *sample)
{
	const struct sample *old = find_sample(&before, sample->pid, sample->start_ticks);
	/* first seen: it started since the previous scrape, so all its time is new */
	uint64_t base = old ? old->cpu_ticks : 0;
	struct process_fact *fact = process_facts_add(&facts);

	fact->pid = sample->pid;
	fact->start_ticks = sample->start_ticks;
	fact->cpu_ns = sample->cpu_ticks > base ? (sample->cpu_ticks - base) * tick_ns : 0;
}

static uint64_t scrape(void)
{
	uint64_t at_ns = monotonic_ns();
	DIR *proc = opendir("/proc");
	struct sample_table spare;
	struct sample sample;
	struct dirent *entry;

	if (!proc)
		collector_exit(EXIT_FAILED, "/proc: %s", strerror(errno));
	now.length = 0;
	facts.length = 0;
	while ((entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (!read_stat(entry->d_name, &sample))
			continue;
		add_sample(&now, &sample);
		if (!baseline)
			keep_fact(&sample);
	}
	closedir(proc);
	baseline = false;
	index_samples(&now);
	spare = before;
	before = now;
	now = spare;
	return at_ns;
}

static void open_proc(void)
{
	if (access("/proc/self/stat", R_OK))
		collector_exit(EXIT_UNAVAILABLE, "/proc/self/stat: %s (is /proc mounted?)",
			       strerror(errno));
	tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
}

static void dump(FILE *out)
{
	process_facts_dump(&facts, out);
}

static void count(struct collector_counts *counts)
{
	counts->records = facts.length;
	counts->vanished = vanished;
	counts->denied = denied;
}

int main(int argc, char **argv)
{
	static const struct collector proc_stat = {
		.name = "proc_stat",
		.open = open_proc,
		.scrape = scrape,
		.dump = dump,
		.count = count,
	};

	return collector_main(argc, argv, &proc_stat);
}
