/* SPDX-License-Identifier: MIT */
/*
 * What every collector shares: arguments, the loop, and the protocol.
 *
 *   <collector> --interval-ms N [--scrapes N] [--dump]
 *
 *   fd 3  "ready" once attached and after a baseline scrape; one closing JSON line at the end
 *   fd 4  with --dump: one JSON line per scrape
 *   exit  0 ended by SIGTERM, SIGINT or --scrapes; 1 failed; 2 bad arguments; 3 unavailable here
 *
 * Scrape k happens at t0 + k * interval on CLOCK_MONOTONIC, t0 being the moment before "ready".
 */
#ifndef PROBETAX_COLLECTOR_H
#define PROBETAX_COLLECTOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define NSEC_PER_SEC  1000000000ull
#define NSEC_PER_MSEC 1000000ull

/* A count that this collector has no way to know: null in JSON, never 0. */
#define UNKNOWN_COUNT (-1ll)

enum collector_exit { EXIT_FAILED = 1, EXIT_BAD_ARGUMENTS = 2, EXIT_UNAVAILABLE = 3 };

struct collector_counts {
	long long records;	    /* held in memory after the last scrape */
	long long lost;		    /* failed inserts or updates */
	long long recursion_misses; /* runs the kernel skipped */
	long long missed;	    /* events that the kernel did not report */
	long long vanished;	    /* gone between the listing and the read */
	long long denied;	    /* refused with EPERM or EACCES */
	long long clamped;	    /* counters that fell or were impossible, kept as before */
	long long kernel_ns;	    /* self-timed kernel work that no other instrument sees */
};

/* An option of one collector alone: a whole number within [min, max], the place of one of the words,
 * which end with NULL, or a text. */
struct collector_option {
	const char *name;
	long long *value;
	long long min, max;
	const char *help;
	const char *const *words;
	const char **text;
};

struct collector {
	const char *name;
	const struct collector_option *options; /* ends with a NULL name; may be NULL */
	void (*open)(void);			/* load, attach; ends through collector_exit() */
	uint64_t (*scrape)(void);		/* the time it speaks for, CLOCK_MONOTONIC ns */
	void (*dump)(FILE *out);		/* the fields after "interval_ns", no braces */
	void (*count)(struct collector_counts *counts);
	void (*close)(void);
	/* For a collector that has work between two scrapes, in place of sleeping. SIGTERM and SIGINT
	 * are held back but for where it waits with the mask `waiting`; it returns after a signal. */
	void (*rest)(uint64_t until_ns, const sigset_t *waiting);
	void (*describe)(FILE *out); /* more fields of the closing line, a comma before each */
};

int collector_main(int argc, char **argv, const struct collector *collector);

/* Ends the process with one line on stderr: "<collector>: <reason>". */
void collector_exit(enum collector_exit status, const char *reason, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

uint64_t collector_interval_ns(void);
uint64_t monotonic_ns(void);

#endif
