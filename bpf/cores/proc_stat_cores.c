// SPDX-License-Identifier: MIT
/* Polling: each interval, read and parse the lines of /proc/stat that speak of one CPU each. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core_table.h"

#define POSSIBLE   "/sys/devices/system/cpu/possible"
#define LINE_BYTES 256 /* of a CPU's line and one more, at their longest */

static struct core_facts facts;
static uint64_t tick_ns;
static size_t size;
static char *text;
static int stat_fd;

static void set_cpu(const char *line)
{
	unsigned long long user, nice, system, irq = 0, softirq = 0;
	unsigned int cpu;

	/* cpuN user nice system idle iowait irq softirq steal guest guest_nice; guest is in user */
	if (sscanf(line, "cpu%u %llu %llu %llu %*u %*u %llu %llu", &cpu, &user, &nice, &system,
		   &irq, &softirq) < 4 ||
	    cpu >= facts.count)
		collector_exit(EXIT_FAILED, "/proc/stat has a form this program does not know");
	core_facts_set(&facts, cpu, (user + nice + system + irq + softirq) * tick_ns);
}

static uint64_t scrape(void)
{
	uint64_t at_ns = monotonic_ns();
	ssize_t length = pread(stat_fd, text, size - 1, 0);

	if (length <= 0)
		collector_exit(EXIT_FAILED, "/proc/stat: %s",
			       length ? strerror(errno) : "is empty");
	text[length] = 0;
	core_facts_begin(&facts, at_ns);
	for (char *line = text, *next; line && !strncmp(line, "cpu", 3); line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (line[3] != ' ') /* the first line is of all CPUs */
			set_cpu(line);
	}
	core_table_show(&facts);
	return at_ns;
}

static uint32_t possible_cpus(void)
{
	FILE *file = fopen(POSSIBLE, "r");
	unsigned int highest = 0;

	if (!file)
		collector_exit(EXIT_UNAVAILABLE, POSSIBLE ": %s", strerror(errno));
	/* ascending ranges such as 0-3,8 */
	while (fscanf(file, "%u%*[,-]", &highest) == 1)
		;
	fclose(file);
	return highest + 1;
}

static void open_proc(void)
{
	uint32_t cpus = possible_cpus();

	stat_fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	if (stat_fd < 0)
		collector_exit(EXIT_UNAVAILABLE, "/proc/stat: %s", strerror(errno));
	tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	size = (cpus + 2) * LINE_BYTES;
	text = malloc(size);
	if (!text)
		collector_exit(EXIT_FAILED, "out of memory at %u CPUs", cpus);
	core_facts_open(&facts, cpus);
}

static void dump(FILE *out)
{
	core_facts_dump(&facts, out);
}

static void count(struct collector_counts *counts)
{
	counts->records = facts.count;
	counts->clamped = facts.clamped;
}

int main(int argc, char **argv)
{
	static const struct collector proc_stat_cores = {
		.name = "proc_stat_cores",
		.open = open_proc,
		.scrape = scrape,
		.dump = dump,
		.count = count,
	};

	return core_table_main(argc, argv, &proc_stat_cores);
}
