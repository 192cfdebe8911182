// SPDX-License-Identifier: MIT
/*
 * A security sensor. As a collector it prints nothing and holds its events in memory; a tick is a
 * scrape. At a terminal it prints a line for each event.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sensor_attach.h"
#include "sensor_buffer.h"
#include "sensor_config.h"
#include "sensor_flows.h"
#include "sensor_ladder.h"
#include "sensor_log.h"
#include "sensor_print.h"

#define READY_FD 3
#define ROUNDS	 64 /* of emptying a buffer that is too small for all sums at once; the rest waits */

static struct bpf_object *object;

static void prepare(struct bpf_object *loaded)
{
	struct bpf_map *trie = loader_map(loaded, "paths");
	int error = bpf_map__fd(trie) < 0 ? 0 : path_set_fill(&config.paths, bpf_map__fd(trie));

	if (error)
		collector_exit(EXIT_UNAVAILABLE, "path set: %s", strerror(-error));
	buffer_open(loaded, log_take);
	flows_open(loaded);
}

static void undo(void)
{
	flows_close();
	buffer_close();
}

static void open_sensor(void)
{
	config_finish();
	log_open();
	object = attach_all(prepare, undo);
}

/* Sums wait where they are if the buffer is full; then it is emptied and they are asked for again. */
static void take_all(void)
{
	bool complete = false;

	for (int round = 0; round < ROUNDS && !complete; round++) {
		buffer_drain();
		complete = flows_emit();
	}
	buffer_drain();
}

static uint64_t scrape(void)
{
	uint64_t at_ns;

	take_all();
	at_ns = monotonic_ns();
	log_tick();
	if (log_watcher)
		fflush(stdout);
	return at_ns;
}

static void rest(uint64_t until_ns, const sigset_t *waiting)
{
	buffer_wait(until_ns, waiting);
	if (log_watcher)
		fflush(stdout);
}

static uint64_t counted(size_t offset)
{
	unsigned int cpus = libbpf_num_possible_cpus(), only = 0;
	struct sensor_counters values[cpus];
	uint64_t sum = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(loader_map(object, "counters")), &only, values))
		return 0;
	for (unsigned int cpu = 0; cpu < cpus; cpu++)
		sum += *(uint64_t *)((char *)&values[cpu] + offset);
	return sum;
}

static uint64_t lost(void)
{
	return counted(offsetof(struct sensor_counters, lost)) + log_counts.malformed;
}

/* The first word after the end: what was still under way belongs to the events. */
static void count(struct collector_counts *counts)
{
	take_all();
	counts->records = log_held();
	counts->lost = lost();
	counts->recursion_misses = attached_recursion_misses();
}

static void describe(FILE *out)
{
	const char *comma = "";

	fprintf(out, ",\"events\":%llu,\"filtered\":%llu,\"kernel_filtered\":%llu",
		(unsigned long long)log_counts.events, (unsigned long long)log_counts.filtered,
		(unsigned long long)counted(offsetof(struct sensor_counters, kernel_filtered)));
	fputs(",\"events_by_kind\":{", out);
	for (int kind = 0; kind < EVENT_KINDS; kind++) {
		if (!log_counts.by_kind[kind])
			continue;
		fprintf(out, "%s\"%s\":%llu", comma, kind_name(kind),
			(unsigned long long)log_counts.by_kind[kind]);
		comma = ",";
	}
	fprintf(out, "},\"bytes_sent\":%llu,\"bytes_received\":%llu,\"wakeups\":%llu",
		(unsigned long long)log_counts.bytes_sent,
		(unsigned long long)log_counts.bytes_received,
		(unsigned long long)buffer_wakeups());
	fprintf(out, ",\"buffer_bytes\":%llu", (unsigned long long)buffer_bytes());
	ladder_describe(out);
}

static void close_sensor(void)
{
	if (log_watcher && lost())
		fprintf(stderr, "sensor: %llu events were lost: --buffer-kb makes more room\n",
			(unsigned long long)lost());
	flows_close();
	buffer_close();
	detach_all();
}

static void show(const struct event_with_two_paths *event)
{
	print_line(stdout, event);
}

static const struct collector sensor = {
	.name = "sensor",
	.options = config_options,
	.open = open_sensor,
	.scrape = scrape,
	.dump = log_dump,
	.count = count,
	.close = close_sensor,
	.rest = rest,
	.describe = describe,
};

/* What collector_main() does not know: --help, --watch, and the file, which flags beside it override
 * and which is therefore read before them. */
int main(int argc, char **argv)
{
	bool watched = false, dumped = false, paced = false;
	char *arguments[argc + 3];
	int count = 0;

	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--help")) {
			config_help(stdout);
			return 0;
		}
		if (!strcmp(argv[i], "--watch")) {
			watched = true;
			continue;
		}
		if (!strcmp(argv[i], "--config") && i + 1 < argc)
			config_read(argv[i + 1]);
		dumped = dumped || !strcmp(argv[i], "--dump");
		paced = paced || !strcmp(argv[i], "--interval-ms");
		arguments[count++] = argv[i];
	}
	if (watched || (fcntl(READY_FD, F_GETFD) < 0 && !dumped && isatty(STDOUT_FILENO)))
		log_watcher = show;
	if (log_watcher && !paced) {
		arguments[count++] = "--interval-ms";
		arguments[count++] = "1000";
	}
	arguments[count] = NULL;
	return collector_main(count, arguments, &sensor);
}
