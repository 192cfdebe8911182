// SPDX-License-Identifier: MIT
/* Polling: each interval, open, read and parse /proc/stat (first line) and /proc/meminfo. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "collector.h"
#include "gauges.h"

#define READ_BYTES 4096 /* what is wanted stands at the beginning of both files */

static struct gauge_facts facts;
static uint64_t tick_ns;

static void read_file(const char *path, char text[READ_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, READ_BYTES - 1);

	if (length <= 0)
		collector_exit(EXIT_FAILED, "%s: %s", path, length ? strerror(errno) : "is empty");
	close(fd);
	text[length] = 0;
}

static void read_stat(void)
{
	unsigned long long ticks[GAUGE_MODES] = {0};
	uint64_t cpu_ns[GAUGE_MODES];
	char text[READ_BYTES];

	read_file("/proc/stat", text);
	/* guest and guest_nice follow; user and nice include them already */
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[USER], &ticks[NICE],
		   &ticks[SYSTEM], &ticks[IDLE], &ticks[IOWAIT], &ticks[IRQ], &ticks[SOFTIRQ],
		   &ticks[STEAL]) < 4)
		collector_exit(EXIT_FAILED, "/proc/stat has a form this program does not know");
	for (int mode = 0; mode < GAUGE_MODES; mode++)
		cpu_ns[mode] =
			ticks[mode] > UINT64_MAX / tick_ns ? UINT64_MAX : ticks[mode] * tick_ns;
	gauge_facts_set_cpu(&facts, cpu_ns);
}

static uint64_t meminfo_bytes(const char *text, const char *name)
{
	unsigned long long kib;
	const char *line = strstr(text, name);

	if (!line || sscanf(line + strlen(name), ": %llu kB", &kib) != 1)
		collector_exit(EXIT_FAILED, "/proc/meminfo has no %s", name);
	return kib * 1024;
}

static uint64_t scrape(void)
{
	uint64_t at_ns = monotonic_ns();
	char text[READ_BYTES];

	read_stat();
	read_file("/proc/meminfo", text);
	facts.total_bytes = meminfo_bytes(text, "MemTotal");
	facts.free_bytes = meminfo_bytes(text, "MemFree");
	return at_ns;
}

static void open_proc(void)
{
	if (access("/proc/stat", R_OK) || access("/proc/meminfo", R_OK))
		collector_exit(EXIT_UNAVAILABLE, "/proc/stat, /proc/meminfo: %s", strerror(errno));
	tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
}

static void dump(FILE *out)
{
	gauge_facts_dump(&facts, out);
}

static void count(struct collector_counts *counts)
{
	counts->records = 1;
	counts->clamped = facts.clamped;
}

int main(int argc, char **argv)
{
	static const struct collector proc_files = {
		.name = "proc_files",
		.open = open_proc,
		.scrape = scrape,
		.dump = dump,
		.count = count,
	};

	return collector_main(argc, argv, &proc_files);
}
