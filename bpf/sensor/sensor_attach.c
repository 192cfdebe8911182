// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "cgroup_root.h"
#include "loader_reason.h"
#include "sensor_attach.h"
#include "sensor_buffer.h"
#include "sensor_config.h"
#include "sensor_ladder.h"
#include "sensor_probe.h"

#define MOST_LINKS 128

EMBED_BPF_OBJECT("sensor");

static struct bpf_object *object;
static struct {
	struct bpf_link *link;
	const struct bpf_program *program;
} links[MOST_LINKS];
static size_t link_count;

/* libbpf says in words alone which program it was that the kernel refused. */
static char refused_program[64];
static libbpf_print_fn_t keep_message;

static int note_program(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[256];
	va_list copy;

	if (level == LIBBPF_WARN && !refused_program[0]) {
		va_copy(copy, args);
		vsnprintf(line, sizeof(line), format, copy);
		va_end(copy);
		if (sscanf(line, "libbpf: prog '%63[^']'", refused_program) != 1)
			refused_program[0] = 0;
	}
	return keep_message ? keep_message(level, format, args) : 0;
}

static bool wants_bytes(void)
{
	return ladder_holds(EVENT_TCP_SENDMSG) || ladder_holds(EVENT_TCP_CLEANUP_RBUF);
}

/* What one call has read is known at a function's entry only from the socket's position before. */
static bool keeps_sums(void)
{
	return wants_bytes() && (config.bytes == BYTES_AGGREGATE ||
				 (ladder_holds(EVENT_TCP_CLEANUP_RBUF) &&
				  ladder_rung(EVENT_TCP_CLEANUP_RBUF)->way != TRACEPOINT));
}

bool attached_sums(void)
{
	return wants_bytes() && config.bytes == BYTES_AGGREGATE;
}

static void use(const char *name)
{
	bpf_program__set_autoload(loader_program(object, name), true);
}

static void use_programs(void)
{
	struct bpf_program *program = NULL;

	while ((program = bpf_object__next_program(object, program)))
		bpf_program__set_autoload(program, false);
	for (int hook = 0; hook < HOOKS; hook++) {
		if (!ladder_holds(hook))
			continue;
		for (int i = 0; i < MOST_PROGRAMS && ladder_rung(hook)->programs[i]; i++) {
			const char *name = ladder_rung(hook)->programs[i];

			program = loader_program(object, name);
			if (!i || !probe(bpf_program__section_name(program)))
				use(name);
		}
	}
	if (keeps_sums())
		use("socket_closed");
	if (attached_sums())
		use("take_sums");
}

static void use_maps(void)
{
	bool filters = config.filter == FILTER_KERNEL && ladder_holds(EVENT_FILE_OPEN);

	bpf_map__set_max_entries(loader_map(object, "ring"), buffer_ring_bytes());
	bpf_map__set_autocreate(loader_map(object, "ring"), config.buffer == BUFFER_RING);
	bpf_map__set_autocreate(loader_map(object, "perf"), config.buffer == BUFFER_PERF);
	bpf_map__set_autocreate(loader_map(object, "paths"), filters);
	bpf_map__set_autocreate(loader_map(object, "sockets"), keeps_sums());
	bpf_map__set_autocreate(loader_map(object, "active"), attached_sums());
	if (filters)
		bpf_map__set_max_entries(loader_map(object, "paths"), config.paths.length);
	bpf_map__set_max_entries(loader_map(object, "sockets"), config.sockets);
	bpf_map__set_max_entries(loader_map(object, "active"), config.sockets);
}

static void set_options(void)
{
	uint32_t own = getpid(), wakeup = config.wakeup;
	uint64_t batch = config.batch_kb * 1024, half = buffer_ring_bytes() / 2;
	bool to_perf = config.buffer == BUFFER_PERF, in_kernel = config.filter == FILTER_KERNEL;
	bool aggregate = config.bytes == BYTES_AGGREGATE;

	if (batch > half) /* before nothing fits in any more */
		batch = half;
	loader_set_constant(object, "own_tgid", &own, sizeof(own));
	loader_set_constant(object, "wakeup", &wakeup, sizeof(wakeup));
	loader_set_constant(object, "batch_bytes", &batch, sizeof(batch));
	loader_set_constant(object, "to_perf", &to_perf, sizeof(to_perf));
	loader_set_constant(object, "filter_in_kernel", &in_kernel, sizeof(in_kernel));
	loader_set_constant(object, "aggregate", &aggregate, sizeof(aggregate));
}

static int keep_link(struct bpf_link *link, const struct bpf_program *program)
{
	if (!link)
		return -errno;
	if (link_count == MOST_LINKS)
		collector_exit(EXIT_FAILED, "more than %d programs", MOST_LINKS);
	links[link_count].link = link;
	links[link_count++].program = program;
	return 0;
}

static int attach_cgroup(struct bpf_program *program)
{
	struct cgroup_root root;
	int folder, error;

	if (!cgroup_root_look(&root, 2))
		return -ENOENT;
	folder = open(root.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	error = keep_link(bpf_program__attach_cgroup(program, folder), program);
	close(folder);
	return error;
}

/* What the reader runs by itself is not attached. */
static int attach_program(struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	if (!strcmp(section, "raw_tp"))
		return 0;
	if (!strncmp(section, "cgroup/", 7))
		return attach_cgroup(program);
	return keep_link(bpf_program__attach(program), program);
}

static int attach_loaded(struct bpf_program **refused)
{
	struct bpf_program *program = NULL;
	int error;

	while ((program = bpf_object__next_program(object, program))) {
		if (!bpf_program__autoload(program))
			continue;
		error = attach_program(program);
		if (error) {
			*refused = program;
			return error;
		}
	}
	return 0;
}

/* 0, or the error of the program whose name is left in `refused_program`. */
static int load(void)
{
	for (int hook = 0; hook < HOOKS; hook++)
		if (ladder_holds(hook))
			ladder_choose(hook, object);
	use_programs();
	use_maps();
	set_options();
	refused_program[0] = 0;
	keep_message = libbpf_set_print(note_program);
	return bpf_object__load(object);
}

/* Asked at once: refusals of single hooks would hide that nothing at all is allowed. */
static void need_permission(void)
{
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, sizeof(int), sizeof(int), 1, NULL);

	if (map < 0)
		reason_exit("make a map", map);
	close(map);
}

struct bpf_object *attach_all(void (*prepare)(struct bpf_object *object), void (*undo)(void))
{
	need_permission();
	loader_need_initial_pid_namespace();
	loader_need_tracefs();
	for (;;) {
		struct bpf_program *refused = NULL;
		int error;

		object = open_embedded();
		error = load();
		if (error) {
			if (!ladder_go_down(refused_program, error))
				reason_exit("load", error);
			bpf_object__close(object);
			continue;
		}
		prepare(object);
		error = attach_loaded(&refused);
		if (!error)
			return object;
		if (!ladder_go_down(bpf_program__name(refused), error))
			reason_exit("attach", error);
		undo();
		detach_all();
	}
}

void detach_all(void)
{
	while (link_count)
		bpf_link__destroy(links[--link_count].link);
	bpf_object__close(object);
	object = NULL;
}

long long attached_recursion_misses(void)
{
	long long sum = 0;

	for (size_t i = 0; i < link_count; i++) {
		long long misses = loader_recursion_misses(links[i].program);

		if (misses == UNKNOWN_COUNT)
			return UNKNOWN_COUNT;
		sum += misses;
	}
	return sum;
}
