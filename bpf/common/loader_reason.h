/* SPDX-License-Identifier: MIT */
/* From libbpf's many lines to the one that names the cause. */
#ifndef PROBETAX_LOADER_REASON_H
#define PROBETAX_LOADER_REASON_H

/* From now on libbpf's messages are kept instead of printed. */
void reason_capture(void);
/* Ends the collector with exit 3: the cause of `error` (negative errno) met while `doing`. */
void reason_exit(const char *doing, int error) __attribute__((noreturn));

#endif
