/* SPDX-License-Identifier: MIT */
#ifndef PROBETAX_PIN_H
#define PROBETAX_PIN_H

#include <sched.h>
#include <sys/prctl.h>

/* Keeps this process and what it starts on one CPU; -1: the last one allowed, since the first ones
 * take most interrupts. Returns that CPU, or -1 with errno. */
static inline int pin_to(int cpu)
{
	struct sched_param none = {0};
	cpu_set_t set;

	if (cpu < 0) {
		if (sched_getaffinity(0, sizeof(set), &set))
			return -1;
		for (int i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &set))
				cpu = i;
	}
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	/* a woken batch task does not preempt its waker, so each hand-over is one switch */
	if (sched_setaffinity(0, sizeof(set), &set) || sched_setscheduler(0, SCHED_BATCH, &none))
		return -1;
	prctl(PR_SET_TIMERSLACK, 1);
	return cpu;
}

#endif
