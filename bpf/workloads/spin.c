// SPDX-License-Identifier: MIT
/*
 * spin --cpu-ms M [--burst-ms B] [--duty PERCENT] [--threads T] [--hold-ms H] [--leader-exits 1]
 *      [--note-ms N]
 *
 * Burns M ms of its own CPU time, in bursts of B ms at the duty cycle (100: never yields), shared
 * by T threads. Then prints {"pid":..., "cpu_ns":...} on stdout, cpu_ns being what the process has
 * used since its birth, sleeps H ms so that pollers can see the total, and exits.
 * --leader-exits: the first thread leaves at once; the others do the work.
 * --note-ms: every N ms of burning it notes what it has used so far, and prints that too, as
 * "notes":[[CLOCK_MONOTONIC in ns, CPU time in ns],...]: its use at a moment when it was burning.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arguments.h"
#include "clock.h"

#define NOTES 65536

static long long cpu_ms, burst_ms = 10, duty = 100, threads = 1, hold_ms, leader_exits, note_ms;
static long long working;
static struct {
	uint64_t at_ns, cpu_ns;
} notes[NOTES];
static int note_count;

static void note(void)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (note_count == NOTES ||
	    (note_count && now < notes[note_count - 1].at_ns + note_ms * 1000000))
		return;
	notes[note_count].at_ns = now;
	notes[note_count++].cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void burn_until(uint64_t thread_cpu_ns)
{
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < thread_cpu_ns) {
		burn();
		if (note_ms)
			note();
	}
}

static void report(void)
{
	printf("{\"pid\":%d,\"cpu_ns\":%llu", getpid(),
	       (unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	for (int i = 0; i < note_count; i++)
		printf("%s[%llu,%llu]", i ? "," : ",\"notes\":[",
		       (unsigned long long)notes[i].at_ns, (unsigned long long)notes[i].cpu_ns);
	puts(note_count ? "]}" : "}");
	fflush(stdout);
	sleep_ns(hold_ms * 1000000);
	exit(0);
}

static void *work(void *unused)
{
	uint64_t end = cpu_ms * 1000000 / threads, at = 0;

	(void)unused;
	while (at < end) {
		at = at + burst_ms * 1000000 < end ? at + burst_ms * 1000000 : end;
		burn_until(at);
		if (duty < 100)
			sleep_ns(burst_ms * 1000000 * (100 - duty) / duty);
	}
	if (!__atomic_sub_fetch(&working, 1, __ATOMIC_SEQ_CST))
		report();
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct argument arguments[] = {
		{"--cpu-ms", &cpu_ms, 1, 1ll << 40}, {"--burst-ms", &burst_ms, 1, 1 << 30},
		{"--duty", &duty, 1, 100},	     {"--threads", &threads, 1, 10000},
		{"--hold-ms", &hold_ms, 0, 1 << 30}, {"--leader-exits", &leader_exits, 0, 1},
		{"--note-ms", &note_ms, 0, 1000},    {0},
	};
	pthread_t thread;

	parse_arguments(argc, argv, arguments);
	if (!cpu_ms) {
		fprintf(stderr, "spin: --cpu-ms is missing\n");
		return 2;
	}
	if (note_ms && threads > 1) {
		fprintf(stderr, "spin: --note-ms is for one thread\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	working = threads;
	for (long long i = leader_exits ? 0 : 1; i < threads; i++) {
		if (pthread_create(&thread, NULL, work, NULL)) {
			fprintf(stderr, "spin: cannot start thread %lld of %lld\n", i + 1, threads);
			return 1;
		}
	}
	if (!leader_exits)
		work(NULL);
	/* this thread alone; pthread_exit() would load another library */
	syscall(SYS_exit, 0);
	return 0;
}
