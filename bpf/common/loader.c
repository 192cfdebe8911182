// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader.h"
#include "loader_reason.h"

struct bpf_object *loader_open(const char *name, const void *bytes, size_t size)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = name);
	struct bpf_object *object;

	reason_capture();
	object = bpf_object__open_mem(bytes, size, &options);
	if (!object)
		reason_exit("open", -errno);
	return object;
}

void loader_load(struct bpf_object *object)
{
	int error = bpf_object__load(object);

	if (error)
		reason_exit("load", error);
}

struct bpf_map *loader_map(struct bpf_object *object, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	if (!map)
		collector_exit(EXIT_FAILED, "the object has no map %s", name);
	return map;
}

struct bpf_program *loader_program(struct bpf_object *object, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	if (!program)
		collector_exit(EXIT_FAILED, "the object has no program %s", name);
	return program;
}

void loader_attach(struct bpf_program *program)
{
	/* the link lives as long as the process: the kernel detaches when its fd goes */
	if (!bpf_program__attach(program))
		reason_exit("attach", -errno);
}

void loader_set_constant(struct bpf_object *object, const char *name, const void *value,
			 size_t size)
{
	const struct btf *btf = bpf_object__btf(object);
	struct bpf_map *map = loader_map(object, ".rodata");
	const struct btf_type *section;
	const struct btf_var_secinfo *variable;
	size_t length;
	char *memory = (char *)bpf_map__initial_value(map, &length); /* const before 1.3 */
	int id = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);

	if (id < 0 || !memory)
		collector_exit(EXIT_FAILED, "the object has no options");
	section = btf__type_by_id(btf, id);
	variable = btf_var_secinfos(section);
	for (int i = 0; i < btf_vlen(section); i++, variable++) {
		const struct btf_type *type = btf__type_by_id(btf, variable->type);

		if (strcmp(btf__name_by_offset(btf, type->name_off), name))
			continue;
		if (variable->size != size || variable->offset + size > length)
			break;
		memcpy(memory + variable->offset, value, size);
		return;
	}
	collector_exit(EXIT_FAILED, "the object has no option %s of %zu bytes", name, size);
}

void *loader_mmap(struct bpf_map *map, bool writable)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = ((size_t)bpf_map__value_size(map) + 7) / 8 * 8 * bpf_map__max_entries(map);
	void *memory;

	size = (size + page - 1) / page * page;
	memory = mmap(NULL, size, writable ? PROT_READ | PROT_WRITE : PROT_READ,
		      MAP_SHARED | MAP_POPULATE, bpf_map__fd(map), 0);
	if (memory == MAP_FAILED)
		collector_exit(EXIT_UNAVAILABLE, "cannot map %s (%zu bytes): %s",
			       bpf_map__name(map), size, strerror(errno));
	return memory;
}

int loader_run(struct bpf_program *program, int cpu)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int error;

	if (cpu >= 0) {
		options.flags = BPF_F_TEST_RUN_ON_CPU;
		options.cpu = cpu;
	}
	error = bpf_prog_test_run_opts(bpf_program__fd(program), &options);
	return error ? error : (int)options.retval;
}

long long loader_recursion_misses(const struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
		return UNKNOWN_COUNT;
	return info.recursion_misses;
}

bool loader_prev_state_is_second(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *type;
	const struct btf_param *parameter;
	bool second;
	int id;

	if (!btf)
		collector_exit(EXIT_UNAVAILABLE,
			       "no kernel type information in /sys/kernel/btf/vmlinux (%s): this "
			       "kernel was built without CONFIG_DEBUG_INFO_BTF, or libbpf is too "
			       "old to read it",
			       strerror(errno));
	id = btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	if (id < 0)
		collector_exit(EXIT_UNAVAILABLE, "this kernel's BTF does not know sched_switch");
	type = btf__type_by_id(btf, btf__type_by_id(btf, id)->type); /* pointer to */
	type = btf__type_by_id(btf, type->type);		     /* the prototype */
	parameter = btf_params(type);
	/* (void *, bool preempt, prev, next, ...) against (void *, bool, prev_state, prev, next) */
	second = btf_vlen(type) > 4 && !btf_is_ptr(btf__type_by_id(btf, parameter[2].type));
	btf__free(btf);
	return second;
}
