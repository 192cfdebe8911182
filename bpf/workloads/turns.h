/* SPDX-License-Identifier: MIT */
/*
 * Turns of equal work by one process: their memory is the same, so that two of them differ only by
 * what was attached between them and by what the machine did.
 */
#ifndef TURNS_H
#define TURNS_H

#include <unistd.h>

/* Each turn is begun by a byte on standard input, and its end there ends them all. Without a number
 * of turns there is one, at once. */
static inline void take_turns(long long turns, void (*turn)(void))
{
	char byte;

	if (!turns)
		turn();
	while (turns-- > 0 && read(STDIN_FILENO, &byte, 1) == 1)
		turn();
}

#endif
