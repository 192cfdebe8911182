/* SPDX-License-Identifier: MIT */
/* What sensor_load makes happen: one row for each hook of a sensor, named as the hook is. */
#ifndef PROBETAX_LOAD_EVENTS_H
#define PROBETAX_LOAD_EVENTS_H

struct event {
	const char *name;
	const char *does;
	void (*prepare)(void); /* once; may be NULL */
	void (*make)(void);
};

/* Each ends with a NULL name. */
extern const struct event file_events[], task_events[], socket_events[];

extern long long message_size; /* of one send, in bytes */

/* One line on stderr, with errno's words, and exit 1. */
void load_failed(const char *what) __attribute__((noreturn));
/* The same for what this kernel, or this user, cannot do: exit 3. */
void load_unavailable(const char *what) __attribute__((noreturn));
/* A file system of this process alone at /tmp, which goes with it, however it ends. */
void private_folder(void);

#endif
