/* SPDX-License-Identifier: MIT */
/* Whole-number options for the load generators: {name, variable, smallest, largest}. */
#ifndef PROBETAX_ARGUMENTS_H
#define PROBETAX_ARGUMENTS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct argument {
	const char *name;
	long long *value;
	long long min, max;
};

/* Ends the program with one line and status 2 on anything it does not know. */
static inline void parse_arguments(int argc, char **argv, const struct argument *known)
{
	for (int i = 1; i < argc; i += 2) {
		const struct argument *argument = known;
		const char *text = i + 1 < argc ? argv[i + 1] : "";
		char *end;

		while (argument->name && strcmp(argument->name, argv[i]))
			argument++;
		if (!argument->name) {
			fprintf(stderr, "%s: unknown argument %s; known:", argv[0], argv[i]);
			for (argument = known; argument->name; argument++)
				fprintf(stderr, " %s N", argument->name);
			fputc('\n', stderr);
			exit(2);
		}
		errno = 0;
		*argument->value = strtoll(text, &end, 10);
		if (errno || end == text || *end || *argument->value < argument->min ||
		    *argument->value > argument->max) {
			fprintf(stderr, "%s: %s %s: want a whole number from %lld to %lld\n",
				argv[0], argv[i], text, argument->min, argument->max);
			exit(2);
		}
	}
}

#endif
