// SPDX-License-Identifier: MIT
/*
 * duty_cores --duty PERCENT --burst-us B --seconds S [--others FILE]: a known use of each CPU. On every
 * CPU that this process may run on a thread of its own burns B microseconds of its CPU time at a
 * stretch and sleeps, so that it is busy for PERCENT of the time, for S seconds. The threads of
 * different CPUs begin their periods at different moments.
 *
 * At the end one line on stdout, times in ns:
 *   {"cpus":{"0":{"own":[[t,used],...],"others":[[t,used],...]},...}}
 * own: what the thread has used by a moment of CLOCK_MONOTONIC, by its own clock; between two
 * such notes it either burned or slept throughout, or, where periods are short, many times both.
 * others: what everything else has used on this CPU, by FILE: cpuacct.usage_percpu of the root of that
 * hierarchy, or /proc/schedstat; less a constant.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "arguments.h"
#include "clock.h"

#define NOTE_EVERY_NS 50000000ull
#define FILE_BYTES    262144
#define STEP_LOOPS    200 /* between two looks at the clock, a fraction of a microsecond */

struct note {
	uint64_t at_ns, used_ns;
};

struct notes {
	struct note *list;
	size_t count;
};

struct core {
	pthread_t thread;
	int cpu, place;
	struct notes own, others;
};

static long long duty, burst_us, seconds;
static const char *others_path;
static uint64_t begin_ns, end_ns, period_ns;
static size_t most_notes;
static int cores;

static void fail(const char *what)
{
	fprintf(stderr, "duty_cores: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void add(struct notes *notes, uint64_t at_ns, uint64_t used_ns)
{
	if (notes->count < most_notes)
		notes->list[notes->count++] = (struct note){at_ns, used_ns};
}

/* What the CPU's tasks have used by the kernel's account of the CPU: the CPU's number in a list of
 * all, or the seventh number of its line. */
static int all_of_cpu(int file, char *text, int cpu, uint64_t *all_ns)
{
	ssize_t length = pread(file, text, FILE_BYTES - 1, 0);
	unsigned long long value;
	char name[24], *at = text;

	if (length <= 0)
		return -1;
	text[length] = 0;
	if (strncmp(text, "version", 7)) {
		for (int place = 0; place <= cpu; place++)
			value = strtoull(at, &at, 10);
	} else {
		snprintf(name, sizeof(name), "\ncpu%d ", cpu);
		at = strstr(text, name);
		if (!at || sscanf(at, "\ncpu%*d %*u %*u %*u %*u %*u %*u %llu", &value) != 1)
			return -1;
	}
	*all_ns = value;
	return 0;
}

static void burn_until(uint64_t thread_cpu_ns)
{
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < thread_cpu_ns)
		for (volatile int i = 0; i < STEP_LOOPS; i++)
			;
}

static void sleep_to(uint64_t at_ns)
{
	struct timespec until = {at_ns / 1000000000, at_ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

static void cycle(struct core *core, int others, char *text)
{
	uint64_t at_ns = begin_ns + period_ns * core->place / cores, noted_ns = 0, used, all;

	for (; at_ns < end_ns; at_ns += period_ns) {
		uint64_t now;
		int due;

		sleep_to(at_ns);
		now = clock_ns(CLOCK_MONOTONIC);
		if (now > at_ns + 10 * period_ns) /* made to wait: what was missed stays missed */
			at_ns = now;
		due = now >= noted_ns + NOTE_EVERY_NS;
		used = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		if (due) {
			noted_ns = now;
			add(&core->own, now, used);
			/* right after waking up: what this thread has used is in the account */
			if (others >= 0 && !all_of_cpu(others, text, core->cpu, &all))
				add(&core->others, now, all - used);
		}
		burn_until(used + burst_us * 1000);
		if (due)
			add(&core->own, clock_ns(CLOCK_MONOTONIC),
			    clock_ns(CLOCK_THREAD_CPUTIME_ID));
	}
}

static void *run(void *argument)
{
	struct core *core = argument;
	int others = others_path ? open(others_path, O_RDONLY | O_CLOEXEC) : -1;
	char *text = malloc(FILE_BYTES);
	cpu_set_t set;

	if (!text || (others_path && others < 0))
		fail(others_path ? others_path : "memory");
	CPU_ZERO(&set);
	CPU_SET(core->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("pinning a thread");
	prctl(PR_SET_TIMERSLACK, 1);
	cycle(core, others, text);
	return NULL;
}

static void print_notes(const char *name, const struct notes *notes)
{
	printf("\"%s\":[", name);
	for (size_t i = 0; i < notes->count; i++)
		printf("%s[%llu,%llu]", i ? "," : "", (unsigned long long)notes->list[i].at_ns,
		       (unsigned long long)notes->list[i].used_ns);
	putchar(']');
}

static void parse(int argc, char **argv)
{
	static const struct argument arguments[] = {{"--duty", &duty, 1, 99},
						    {"--burst-us", &burst_us, 1, 10000000},
						    {"--seconds", &seconds, 1, 100000},
						    {0}};

	if (argc > 2 && !strcmp(argv[argc - 2], "--others")) {
		others_path = argv[argc - 1];
		argc -= 2;
	}
	parse_arguments(argc, argv, arguments);
	if (!duty || !burst_us || !seconds) {
		fprintf(stderr, "duty_cores: %s is missing\n",
			!duty	    ? "--duty"
			: !burst_us ? "--burst-us"
				    : "--seconds");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct core *all;
	cpu_set_t allowed;

	parse(argc, argv);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		fail("the CPUs allowed");
	period_ns = burst_us * 100000 / duty;
	most_notes = 2 * (seconds * 1000000000ull / NOTE_EVERY_NS + 2);
	all = calloc(CPU_COUNT(&allowed), sizeof(*all));
	for (int cpu = 0; all && cpu < CPU_SETSIZE; cpu++) {
		struct core *core = &all[cores];

		if (!CPU_ISSET(cpu, &allowed))
			continue;
		*core = (struct core){.cpu = cpu, .place = cores++};
		core->own.list = calloc(most_notes, sizeof(struct note));
		core->others.list = calloc(most_notes, sizeof(struct note));
	}
	begin_ns = clock_ns(CLOCK_MONOTONIC) + 1000000;
	end_ns = begin_ns + seconds * 1000000000ull;
	for (int i = 0; i < cores; i++) {
		errno = pthread_create(&all[i].thread, NULL, run, &all[i]);
		if (errno)
			fail("starting a thread");
	}
	for (int i = 0; i < cores; i++)
		pthread_join(all[i].thread, NULL);
	printf("{\"cpus\":{");
	for (int i = 0; i < cores; i++) {
		printf("%s\"%d\":{", i ? "," : "", all[i].cpu);
		print_notes("own", &all[i].own);
		putchar(',');
		print_notes("others", &all[i].others);
		putchar('}');
	}
	puts("}}");
	return 0;
}
