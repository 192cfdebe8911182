/* SPDX-License-Identifier: MIT */
/*
 * Loading BPF objects. Every function that can fail ends the collector with exit 3 and the
 * kernel's own reason in one line; PROBETAX_VERBOSE=1 adds everything libbpf and the verifier said.
 */
#ifndef PROBETAX_LOADER_H
#define PROBETAX_LOADER_H

#include <bpf/libbpf.h>

#include "collector.h"

/*
 * The compiled kernel program <name>.bpf.o as bytes inside the collector. Hidden, so that the labels
 * are addressed directly: through the GOT, clang 14 for aarch64 addresses a label inside a section
 * as the section's entry plus the offset, which is somewhere else.
 */
#define EMBED_BPF_OBJECT(name)                                                                     \
	__asm__(".pushsection .rodata\n"                                                           \
		".balign 16\n"                                                                     \
		"embedded_begin:\n"                                                                \
		".incbin \"" name ".bpf.o\"\n"                                                     \
		"embedded_end:\n"                                                                  \
		".popsection\n");                                                                  \
	extern const char embedded_begin[] __attribute__((visibility("hidden")));                  \
	extern const char embedded_end[] __attribute__((visibility("hidden")));                    \
	static struct bpf_object *open_embedded(void)                                              \
	{                                                                                          \
		return loader_open(name, embedded_begin, (size_t)(embedded_end - embedded_begin)); \
	}                                                                                          \
	_Static_assert(1, "so that a semicolon may follow")

struct bpf_object *loader_open(const char *name, const void *bytes, size_t size);
void loader_load(struct bpf_object *object);
struct bpf_map *loader_map(struct bpf_object *object, const char *name);
struct bpf_program *loader_program(struct bpf_object *object, const char *name);
void loader_attach(struct bpf_program *program);

/* Sets a `const volatile` option before loading. `size` must be the variable's. */
void loader_set_constant(struct bpf_object *object, const char *name, const void *value,
			 size_t size);
/* Maps an array made with BPF_F_MMAPABLE; `writable` for reading and clearing. */
void *loader_mmap(struct bpf_map *map, bool writable);
/* Runs a program once, in the caller or (cpu >= 0) by interrupt on that CPU; 0 or -errno. */
int loader_run(struct bpf_program *program, int cpu);
long long loader_recursion_misses(const struct bpf_program *program);

/* Highest possible CPU number plus one: numbers may have holes, so a count is not enough. Sets the
 * bit of each possible CPU in `bits`, `limit` bits long, unless that is NULL. */
unsigned int loader_possible_cpus(uint64_t *bits, unsigned int limit);
/* Kernel 5.18 put sched_switch's prev_state before the two tasks; BTF says which order is here. */
bool loader_prev_state_is_second(void);
/* Process ids inside BPF are those of the initial namespace: any other is an error, not a 0. */
void loader_need_initial_pid_namespace(void);
/* Perf tracepoints need tracefs: if it is not mounted, in a mount namespace of our own. */
void loader_need_tracefs(void);

#endif
