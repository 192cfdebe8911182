// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector.h"

#define READY_FD 3
#define DUMP_FD	 4
#define STAMPS	 4096
#define YEAR_MS	 (366ll * 24 * 3600 * 1000)

static const char *program = "collector";
static long long interval_ms, scrape_limit = -1;
static bool dumping;

/*
 * The handler zeroes the deadline, so that a signal that lands between the test of `stopped`
 * and the system call still makes the sleep return at once.
 */
static volatile sig_atomic_t stopped;
static struct timespec deadline;

static struct {
	uint64_t at_ns, cpu_ns;
} stamps[STAMPS];

uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static uint64_t process_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

uint64_t collector_interval_ns(void)
{
	return interval_ms * NSEC_PER_MSEC;
}

void collector_exit(enum collector_exit status, const char *reason, ...)
{
	char line[2048];
	va_list args;

	va_start(args, reason);
	vsnprintf(line, sizeof(line), reason, args);
	va_end(args);
	for (char *c = line; *c; c++)
		if (*c == '\n')
			*c = ' ';
	fprintf(stderr, "%s: %s\n", program, line);
	exit(status);
}

static void on_signal(int signal)
{
	(void)signal;
	stopped = 1;
	deadline.tv_sec = 0;
	deadline.tv_nsec = 0;
}

static void catch_signals(bool held_back, sigset_t *waiting)
{
	struct sigaction action = {.sa_handler = on_signal};
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(held_back ? SIG_BLOCK : SIG_UNBLOCK, &ends, waiting);
	sigdelset(waiting, SIGTERM);
	sigdelset(waiting, SIGINT);
	sigemptyset(&action.sa_mask);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	/* a reader that went away must not kill the collector before its closing line */
	signal(SIGPIPE, SIG_IGN);
}

static long long whole_number(const char *name, const char *text, long long min, long long max)
{
	long long value;
	char *end;

	if (!text)
		collector_exit(EXIT_BAD_ARGUMENTS, "%s wants a number", name);
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || end == text || *end || value < min || value > max)
		collector_exit(EXIT_BAD_ARGUMENTS, "%s %s: want a whole number from %lld to %lld",
			       name, text, min, max);
	return value;
}

static long long place_among(const char *name, const char *text, const char *const *words)
{
	char known[256] = "";
	size_t length = 0;

	for (int i = 0; words[i]; i++) {
		if (text && !strcmp(words[i], text))
			return i;
		if (length < sizeof(known))
			length += snprintf(known + length, sizeof(known) - length, " %s", words[i]);
	}
	collector_exit(EXIT_BAD_ARGUMENTS, "%s %s: want one of%s", name, text ? text : "", known);
}

static const char *some_text(const char *name, const char *text)
{
	if (!text || !*text)
		collector_exit(EXIT_BAD_ARGUMENTS, "%s wants a value", name);
	return text;
}

static void parse_arguments(int argc, char **argv, const struct collector *collector)
{
	for (int i = 1; i < argc; i++) {
		const struct collector_option *option = collector->options;
		const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(name, "--dump")) {
			dumping = true;
			continue;
		}
		while (option && option->name && strcmp(option->name, name))
			option++;
		if (!strcmp(name, "--interval-ms"))
			interval_ms = whole_number(name, value, 1, YEAR_MS);
		else if (!strcmp(name, "--scrapes"))
			scrape_limit = whole_number(name, value, 0, 1ll << 40);
		else if (option && option->name && option->text)
			*option->text = some_text(name, value);
		else if (option && option->name && option->words)
			*option->value = place_among(name, value, option->words);
		else if (option && option->name)
			*option->value = whole_number(name, value, option->min, option->max);
		else
			collector_exit(EXIT_BAD_ARGUMENTS,
				       "unknown argument %s; usage: --interval-ms N [--scrapes N] "
				       "[--dump]",
				       name);
		i++;
	}
	if (!interval_ms)
		collector_exit(EXIT_BAD_ARGUMENTS, "--interval-ms is missing");
}

/* Only a descriptor that was handed over at start belongs to the protocol. */
static FILE *inherited(int fd)
{
	FILE *file = NULL;

	if (fcntl(fd, F_GETFD) >= 0)
		file = fdopen(fd, "w");
	if (file)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	return file;
}

static void put_count(FILE *out, const char *name, long long count)
{
	if (count == UNKNOWN_COUNT)
		fprintf(out, ",\"%s\":null", name);
	else
		fprintf(out, ",\"%s\":%lld", name, count);
}

static void put_stamps(FILE *out, uint64_t scrapes, bool cpu)
{
	uint64_t first = scrapes > STAMPS ? scrapes - STAMPS : 0;

	fprintf(out, ",\"%s\":[", cpu ? "scrape_cpu_ns" : "scrape_at_ns");
	for (uint64_t i = first; i < scrapes; i++)
		fprintf(out, "%s%llu", i > first ? "," : "",
			(unsigned long long)(cpu ? stamps[i % STAMPS].cpu_ns
						 : stamps[i % STAMPS].at_ns));
	fputc(']', out);
}

static void put_closing_line(FILE *out, const struct collector *collector, uint64_t scrapes,
			     uint64_t late)
{
	struct collector_counts counts = {
		.lost = UNKNOWN_COUNT,
		.recursion_misses = UNKNOWN_COUNT,
		.missed = UNKNOWN_COUNT,
		.vanished = UNKNOWN_COUNT,
		.denied = UNKNOWN_COUNT,
		.clamped = UNKNOWN_COUNT,
		.kernel_ns = UNKNOWN_COUNT,
	};

	if (collector->count)
		collector->count(&counts);
	if (!out)
		return;
	fprintf(out, "{\"scrapes\":%llu", (unsigned long long)scrapes);
	put_count(out, "records", counts.records);
	put_count(out, "lost", counts.lost);
	put_count(out, "recursion_misses", counts.recursion_misses);
	put_count(out, "missed", counts.missed);
	put_count(out, "vanished", counts.vanished);
	put_count(out, "denied", counts.denied);
	put_count(out, "clamped", counts.clamped);
	put_count(out, "kernel_ns", counts.kernel_ns);
	put_count(out, "late", late);
	if (collector->describe)
		collector->describe(out);
	put_stamps(out, scrapes, false);
	put_stamps(out, scrapes, true);
	fputs("}\n", out);
	fflush(out);
}

static void rest_until(uint64_t at_ns, const struct collector *collector, const sigset_t *waiting)
{
	if (collector->rest) {
		while (!stopped && monotonic_ns() < at_ns)
			collector->rest(at_ns, waiting);
		return;
	}
	deadline.tv_sec = at_ns / NSEC_PER_SEC;
	deadline.tv_nsec = at_ns % NSEC_PER_SEC;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!stopped)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
}

int collector_main(int argc, char **argv, const struct collector *collector)
{
	FILE *ready = inherited(READY_FD), *dump = inherited(DUMP_FD);
	uint64_t start, previous, scrapes = 0, multiple = 0, late = 0;
	sigset_t waiting;

	program = collector->name;
	parse_arguments(argc, argv, collector);
	catch_signals(collector->rest, &waiting);
	if (collector->open)
		collector->open();
	previous = collector->scrape();
	start = monotonic_ns();
	if (ready) {
		fputs("ready\n", ready);
		fflush(ready);
	}

	while (!stopped && scrapes != (uint64_t)scrape_limit) {
		uint64_t at, now = monotonic_ns(), next = multiple + 1;

		if (now > start + next * collector_interval_ns()) {
			next = (now - start) / collector_interval_ns() + 1;
			late += next - multiple - 1;
		}
		rest_until(start + next * collector_interval_ns(), collector, &waiting);
		if (stopped)
			break;
		multiple = next;
		at = collector->scrape();
		scrapes++;
		stamps[(scrapes - 1) % STAMPS].at_ns = at;
		stamps[(scrapes - 1) % STAMPS].cpu_ns = process_cpu_ns();
		if (dump && dumping) {
			fprintf(dump, "{\"scrape\":%llu,\"at_ns\":%llu,\"interval_ns\":%llu,",
				(unsigned long long)scrapes, (unsigned long long)at,
				(unsigned long long)(at - previous));
			collector->dump(dump);
			fputs("}\n", dump);
			fflush(dump);
		}
		previous = at;
	}
	put_closing_line(ready, collector, scrapes, late);
	if (collector->close)
		collector->close();
	return 0;
}
