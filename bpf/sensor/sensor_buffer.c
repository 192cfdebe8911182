// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "loader.h"
#include "sensor_buffer.h"
#include "sensor_config.h"

static struct ring_buffer *ring;
static struct perf_buffer *perf;
static void (*take_event)(const void *event, size_t size);
static int waits_on = -1;
static uint64_t bytes, taken, wakeups;

static uint64_t power_of_two(uint64_t least, uint64_t wanted)
{
	while (least < wanted)
		least *= 2;
	return least;
}

uint64_t buffer_ring_bytes(void)
{
	return power_of_two(sysconf(_SC_PAGESIZE), config.buffer_kb * 1024);
}

/* No more than a ringful at a time: whoever fills it faster than it is read must not keep the reader
 * from its tick and from its end. */
static int take_from_ring(void *context, void *data, size_t size)
{
	(void)context;
	take_event(data, size);
	taken += size;
	return taken < bytes ? 0 : -EAGAIN;
}

/* The policies are the kernel's rules for when a ring becomes readable. Between them and the reader
 * stands epoll, which looks for itself whether there is anything to read, as often as it is asked: with
 * batches it must not, but listen for the programs' call alone. */
static void open_ring(struct bpf_map *map)
{
	struct epoll_event event = {.events = EPOLLIN};

	ring = ring_buffer__new(bpf_map__fd(map), take_from_ring, NULL, NULL);
	waits_on = epoll_create1(EPOLL_CLOEXEC);
	if (config.wakeup == WAKEUP_BATCH)
		event.events |= EPOLLET;
	if (!ring || waits_on < 0 || epoll_ctl(waits_on, EPOLL_CTL_ADD, bpf_map__fd(map), &event))
		collector_exit(EXIT_UNAVAILABLE, "ring buffer of %llu bytes: %s",
			       (unsigned long long)bytes, strerror(errno));
}

/* Records of losses are left alone: the programs count each failure themselves, which the kernel's
 * records tell only before a success, and sums among them that went back and are not lost. */
static enum bpf_perf_event_ret take_from_perf(void *context, int cpu,
					      struct perf_event_header *header)
{
	const struct {
		struct perf_event_header header;
		uint32_t size;
		char data[];
	} *sample = (const void *)header;

	(void)context;
	(void)cpu;
	if (header->type == PERF_RECORD_SAMPLE)
		take_event(sample->data, sample->size);
	return LIBBPF_PERF_EVENT_CONT;
}

/* A watermark of the whole buffer is as near to never as the kernel can be asked for. */
static void set_perf_wakeup(struct perf_event_attr *attributes, uint64_t each, long cpus)
{
	uint64_t batch = config.batch_kb * 1024 / cpus;

	if (config.wakeup == WAKEUP_EACH) {
		attributes->wakeup_events = 1;
		return;
	}
	attributes->watermark = 1;
	attributes->wakeup_watermark = config.wakeup == WAKEUP_BATCH && batch < each ? batch : each;
}

static void open_perf(struct bpf_map *map)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t page = sysconf(_SC_PAGESIZE);
	uint64_t each = power_of_two(page, (config.buffer_kb * 1024 + cpus - 1) / cpus);
	struct perf_event_attr attributes = {
		.size = sizeof(attributes),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
	};

	set_perf_wakeup(&attributes, each, cpus);
	perf = perf_buffer__new_raw(bpf_map__fd(map), each / page, &attributes, take_from_perf,
				    NULL, NULL);
	if (!perf)
		collector_exit(EXIT_UNAVAILABLE, "perf buffers of %llu bytes each: %s",
			       (unsigned long long)each, strerror(errno));
	waits_on = perf_buffer__epoll_fd(perf);
	bytes = each * perf_buffer__buffer_cnt(perf);
}

void buffer_open(struct bpf_object *object, void (*take)(const void *event, size_t size))
{
	take_event = take;
	if (config.buffer == BUFFER_PERF) {
		open_perf(loader_map(object, "perf"));
	} else {
		bytes = buffer_ring_bytes();
		open_ring(loader_map(object, "ring"));
	}
}

void buffer_close(void)
{
	if (ring)
		close(waits_on);
	ring_buffer__free(ring);
	perf_buffer__free(perf);
	ring = NULL;
	perf = NULL;
	waits_on = -1;
}

void buffer_drain(void)
{
	taken = 0;
	if (ring)
		ring_buffer__consume(ring);
	else if (perf)
		perf_buffer__consume(perf);
}

void buffer_wait(uint64_t until_ns, const sigset_t *waiting)
{
	uint64_t now = monotonic_ns(), left = until_ns > now ? until_ns - now : 0;
	struct timespec rest = {left / NSEC_PER_SEC, left % NSEC_PER_SEC};
	struct epoll_event event;
	int woken;

	if (config.wakeup == WAKEUP_TICK) {
		ppoll(NULL, 0, &rest, waiting);
		return;
	}
	woken = epoll_pwait2(waits_on, &event, 1, &rest, waiting);
	if (woken < 0 && errno != EINTR)
		collector_exit(EXIT_FAILED, "epoll_pwait2: %s", strerror(errno));
	if (woken <= 0)
		return;
	wakeups++;
	buffer_drain();
}

uint64_t buffer_bytes(void)
{
	return bytes;
}

uint64_t buffer_wakeups(void)
{
	return wakeups;
}
