/* Made for the test: what its collectors share. */
#ifndef STANDIN_COMMON_H
#define STANDIN_COMMON_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void on_signal(int number)
{
	(void)number;
	ended = 1;
}

static unsigned long interval_us(int argc, char **argv)
{
	unsigned long ms = 1000;

	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], "--interval-ms"))
			ms = strtoul(argv[i + 1], NULL, 10);
	return ms * 1000;
}

#endif
