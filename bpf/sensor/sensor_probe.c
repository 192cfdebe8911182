// SPDX-License-Identifier: MIT
/*
 * Asking costs less than loading everything and seeing it refused, and it is the only way to find out
 * that a program of the security framework attaches and is then never run: so it is on kernels that have
 * the BPF part of it built in but not switched on (lsm=...,bpf on the command line).
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sensor_probe.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

static const char *const tracefs[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

static struct btf *kernel_types(void)
{
	static struct btf *types;
	static bool asked;

	if (!asked)
		types = btf__load_vmlinux_btf();
	asked = true;
	return types;
}

/* The id of a kernel function or tracepoint; -ENOENT: not here, or not under that name. */
static int type_id(const char *prefix, const char *name, unsigned int kind)
{
	char full[128];

	if (!kernel_types())
		return -ENOENT;
	snprintf(full, sizeof(full), "%s%s", prefix, name);
	return btf__find_by_name_kind(kernel_types(), full, kind);
}

static int attach_tracing(enum bpf_prog_type type, enum bpf_attach_type way, int target,
			  const struct bpf_insn *code, size_t length)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = way,
		    .attach_btf_id = target);
	int program, link, error = 0;

	if (target < 0)
		return target;
	program = bpf_prog_load(type, "probe", "GPL", code, length, &options);
	if (program < 0)
		return program;
	link = bpf_raw_tracepoint_open(NULL, program);
	if (link < 0)
		error = link;
	close(program);
	return error ? error : link;
}

/* 0 if an empty program attaches there. */
static int try_tracing(enum bpf_prog_type type, enum bpf_attach_type way, int target)
{
	static const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int link = attach_tracing(type, way, target, nothing, COUNT_OF(nothing));

	if (link < 0)
		return link;
	close(link);
	return 0;
}

/* Whether programs of the security framework are run at all: one that leaves a mark. */
static int security_runs(void)
{
	static int answer = 1;
	int mark = answer > 0 ? bpf_map_create(BPF_MAP_TYPE_ARRAY, "mark", 4, 8, 1, NULL) : -1;
	const struct bpf_insn leave_mark[] = {
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_VALUE,
		 .imm = mark},
		{0},
		{.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_1, .imm = 1},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	uint32_t only = 0;
	uint64_t marked = 0;
	int link, opened;

	if (answer <= 0 || mark < 0)
		return answer <= 0 ? answer : mark;
	link = attach_tracing(BPF_PROG_TYPE_LSM, BPF_LSM_MAC,
			      type_id("bpf_lsm_", "file_open", BTF_KIND_FUNC), leave_mark,
			      COUNT_OF(leave_mark));
	if (link >= 0) {
		opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (opened >= 0)
			close(opened);
		bpf_map_lookup_elem(mark, &only, &marked);
		close(link);
	}
	close(mark);
	answer = link < 0 ? link : marked ? 0 : -EOPNOTSUPP;
	return answer;
}

static int try_security(const char *hook)
{
	int error = security_runs();

	return error ? error
		     : try_tracing(BPF_PROG_TYPE_LSM, BPF_LSM_MAC,
				   type_id("bpf_lsm_", hook, BTF_KIND_FUNC));
}

static int try_kprobe(const char *function, bool at_return)
{
	struct perf_event_attr attributes = {
		.size = sizeof(attributes),
		.config = at_return,
		.kprobe_func = (uintptr_t)function,
	};
	FILE *file = fopen("/sys/bus/event_source/devices/kprobe/type", "re");
	int event;

	if (!file)
		return -ENOENT;
	if (fscanf(file, "%u", &attributes.type) != 1)
		attributes.type = 0;
	fclose(file);
	event = syscall(SYS_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	close(event);
	return 0;
}

static int try_tracepoint(const char *name)
{
	char path[256];

	for (size_t i = 0; i < COUNT_OF(tracefs); i++) {
		snprintf(path, sizeof(path), "%s/events/%s/id", tracefs[i], name);
		if (!access(path, R_OK))
			return 0;
	}
	return -ENOENT;
}

static const char *after(const char *section, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(section, prefix, length) ? NULL : section + length;
}

int probe(const char *section)
{
	static int security, tracing; /* the way as a whole, once it was refused */
	const char *at;

	if ((at = after(section, "lsm/"))) {
		int error = security ? security : try_security(at);

		if (error == -EPERM || error == -EOPNOTSUPP)
			security = error;
		return error;
	}
	if ((at = after(section, "fentry/")) || (at = after(section, "fexit/"))) {
		bool entry = section[1] == 'e' && section[2] == 'n';
		int error = tracing ? tracing
				    : try_tracing(BPF_PROG_TYPE_TRACING,
						  entry ? BPF_TRACE_FENTRY : BPF_TRACE_FEXIT,
						  type_id("", at, BTF_KIND_FUNC));

		if (error == -EPERM)
			tracing = error;
		return error;
	}
	if ((at = after(section, "tp_btf/")))
		return try_tracing(BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP,
				   type_id("btf_trace_", at, BTF_KIND_TYPEDEF));
	if ((at = after(section, "kprobe/")))
		return try_kprobe(at, false);
	if ((at = after(section, "tracepoint/")))
		return try_tracepoint(at);
	return 0; /* a cgroup program's place is found when it is attached */
}
