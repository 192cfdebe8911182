/* SPDX-License-Identifier: MIT */
/*
 * A crowd: many small tasks, each a process of its own, that are held back until all are there, count
 * their switches, and end together: by SIGTERM, when their time is over, or with their parent.
 */
#ifndef PROBETAX_CROWD_H
#define PROBETAX_CROWD_H

#include <stdint.h>
#include <signal.h>

struct crowd {
	const char *program; /* for messages */
	long long count;
	long long seconds;	   /* 0: until SIGTERM */
	const char *counters;	   /* a file that shows what they have done, or NULL */
	void (*before)(long long); /* around each fork, in the parent; may be NULL */
	void (*after)(long long);
	void (*settle)(long long task); /* in the task while the others are started; may be NULL */
	void (*work)(long long task);	/* in the task once all are there; never returns */
	void (*ended)(double seconds);	/* in the parent, all being gone; may be NULL */
};

/* Takes "--counters FILE" off the end of the arguments; NULL if it is not there. */
const char *crowd_counters(int *argc, char **argv);
/* Starts them, writes "ready" on fd 3 (if open), waits for the end; the program's exit status. */
int crowd_run(const struct crowd *crowd);

/*
 * FILE holds a line of 64 bytes for each task. It begins with two numbers of 64 bits in the machine's
 * byte order, by the kernel's count: its switches so far, and those of them that it made of its own
 * will; the others are the machine's, which let something else run.
 */
struct counter {
	uint64_t switches, voluntary;
	char rest[48]; /* a cache line each */
};

/* Brings the calling task's line up to date. */
void crowd_note(long long task);
/* The sum over all tasks. */
struct counter crowd_total(void);
/* One line on stderr with errno's words, and exit 1. */
void crowd_fail(const char *what) __attribute__((noreturn));

#endif
