// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "sensor_config.h"
#include "sensor_log.h"
#include "sensor_print.h"

struct log_counts log_counts;
void (*log_watcher)(const struct event_with_two_paths *event);

static struct event_with_two_paths *list;
static uint64_t tick_begin, tick_end;
static uint64_t counts_begin[EVENT_KINDS], counts_end[EVENT_KINDS];

void log_open(void)
{
	list = calloc(LOG_EVENTS, sizeof(*list));
	if (!list)
		collector_exit(EXIT_FAILED, "out of memory for %d events", LOG_EVENTS);
	memset(list, 1, LOG_EVENTS * sizeof(*list)); /* touched now, not by the first events */
}

/* Bytes that an event must have at least; of one path the reader knows how long it is. */
static size_t least_size(const struct event *event)
{
	const struct event_with_path *with_path = (const void *)event;

	if (event->flags & EVENT_SECOND)
		return sizeof(struct event_with_two_paths);
	if (event->flags & EVENT_PATH)
		return offsetof(struct event_with_path, path.bytes) + with_path->path.bits / 8;
	return sizeof(*event);
}

static bool well_formed(const struct event_with_two_paths *event, size_t size)
{
	if (size < sizeof(event->head) || event->head.kind >= EVENT_KINDS)
		return false;
	if (event->head.flags & EVENT_PATH &&
	    (size < offsetof(struct event_with_path, path.bytes) ||
	     event->path.bits > 8 * PATH_ROOM))
		return false;
	if (event->head.flags & EVENT_SECOND && size >= sizeof(*event) &&
	    event->second.bits > 8 * PATH_ROOM)
		return false;
	return size >= least_size(&event->head);
}

static bool outside(const struct event_with_two_paths *event)
{
	return event->head.kind == EVENT_FILE_OPEN && config.filter == FILTER_USER &&
	       !(event->head.flags & EVENT_UNREAD) &&
	       !path_set_holds(&config.paths, event->path.bytes, event->path.bits / 8);
}

static void count(const struct event *event)
{
	log_counts.events++;
	log_counts.by_kind[event->kind]++;
	switch (event->kind) {
	case EVENT_TCP_SENDMSG:
		log_counts.bytes_sent += event->facts.message.bytes;
		break;
	case EVENT_TCP_CLEANUP_RBUF:
		log_counts.bytes_received += event->facts.message.bytes;
		break;
	case EVENT_FLOW:
		log_counts.bytes_sent += event->facts.flow.sent;
		log_counts.bytes_received += event->facts.flow.received;
		break;
	}
}

void log_take(const void *data, size_t size)
{
	const struct event_with_two_paths *event = data;
	struct event_with_two_paths *slot;

	if (!well_formed(event, size)) {
		log_counts.malformed++;
		return;
	}
	if (outside(event)) {
		log_counts.filtered++;
		return;
	}
	slot = &list[log_counts.events % LOG_EVENTS];
	memcpy(slot, event, least_size(&event->head));
	count(&event->head);
	if (log_watcher)
		log_watcher(slot);
}

void log_tick(void)
{
	tick_begin = tick_end;
	tick_end = log_counts.events;
	memcpy(counts_begin, counts_end, sizeof(counts_end));
	memcpy(counts_end, log_counts.by_kind, sizeof(counts_end));
}

uint64_t log_held(void)
{
	return log_counts.events < LOG_EVENTS ? log_counts.events : LOG_EVENTS;
}

void log_dump(FILE *out)
{
	uint64_t first = tick_begin;
	const char *comma = "";

	if (tick_end - first > LOG_EVENTS)
		first = tick_end - LOG_EVENTS;
	fputs("\"events\":[", out);
	for (uint64_t i = first; i < tick_end; i++) {
		fputs(i > first ? "," : "", out);
		print_json(out, &list[i % LOG_EVENTS]);
	}
	fprintf(out, "],\"omitted\":%llu,\"counts\":{", (unsigned long long)(first - tick_begin));
	for (int kind = 0; kind < EVENT_KINDS; kind++) {
		if (counts_end[kind] == counts_begin[kind])
			continue;
		fprintf(out, "%s\"%s\":%llu", comma, kind_name(kind),
			(unsigned long long)(counts_end[kind] - counts_begin[kind]));
		comma = ",";
	}
	fputc('}', out);
}
