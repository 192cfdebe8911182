// SPDX-License-Identifier: MIT
/*
 * A QEMU plugin (TCG) that counts the instructions of the whole guest, by where they lie:
 *
 *   user    the lower half of the address space
 *   kernel  the kernel's own text
 *   bpf     anything else in the upper half: compiled BPF programs and trampolines, as long as no
 *           module is loaded
 *
 *   -plugin count.so,marks=FILE,kernel=FIRST:END     both in hexadecimal, END not included
 *
 * Each mark that a user program executes appends a line "<value> <user> <kernel> <bpf>" to FILE: the
 * counts so far. Marks themselves are not counted.
 *
 * Every instruction is counted by itself, as it begins. Counting a block of them at once is faster
 * and wrong: a block that a page fault or an access to a device leaves half-way is begun again.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin.h"

enum place { USER, KERNEL, BPF, PLACES };

static uint64_t counts[PLACES];			/* until QEMU 8.2 */
static struct qemu_plugin_scoreboard *counters; /* from QEMU 9 on, PLACES numbers a CPU */
static bool copies_instructions;		/* from QEMU 9.1 on */
static uint64_t kernel_first, kernel_end;
static bool (*is_mark)(const uint8_t *bytes, size_t length, uint32_t *value);
static FILE *marks;

/* What this version of QEMU wants to be told; it looks after the constructor has run. */
QEMU_PLUGIN_EXPORT int qemu_plugin_version = 1;

__attribute__((constructor)) static void choose_version(void)
{
	if (qemu_plugin_scoreboard_new)
		qemu_plugin_version = 2;
}

static int refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int refuse(const char *format, ...)
{
	va_list arguments;

	fputs("count.so: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return -1;
}

/* nopl VALUE(%rax,%rax,1), VALUE = 0x5....... : an operand that no compiler makes */
static bool is_mark_x86_64(const uint8_t *bytes, size_t length, uint32_t *value)
{
	if (length != 8 || memcmp(bytes, "\x0f\x1f\x84", 4) || bytes[7] >> 4 != 5)
		return false;
	*value = bytes[4] | bytes[5] << 8 | bytes[6] << 16 | (bytes[7] & 15) << 24;
	return true;
}

/* movz xzr, #VALUE: writes to the register that keeps nothing */
static bool is_mark_aarch64(const uint8_t *bytes, size_t length, uint32_t *value)
{
	uint32_t word;

	if (length != 4)
		return false;
	word = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
	if ((word & 0xffe0001f) != 0xd280001f)
		return false;
	*value = word >> 5 & 0xffff;
	return true;
}

static enum place place_of(uint64_t address)
{
	if (!(address >> 63))
		return USER;
	return address >= kernel_first && address < kernel_end ? KERNEL : BPF;
}

static qemu_plugin_u64 counter(enum place place)
{
	return (qemu_plugin_u64){counters, place * sizeof(uint64_t)};
}

static uint64_t count(enum place place)
{
	return counters ? qemu_plugin_u64_sum(counter(place)) : counts[place];
}

static void on_mark(unsigned int cpu, void *value)
{
	(void)cpu;
	fprintf(marks, "%" PRIuPTR " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", (uintptr_t)value,
		count(USER), count(KERNEL), count(BPF));
	fflush(marks);
}

static size_t bytes_of(const struct qemu_plugin_insn *instruction, uint8_t *bytes, size_t most)
{
	size_t length = qemu_plugin_insn_size(instruction);
	uintptr_t at;

	if (length > most)
		return 0;
	at = qemu_plugin_insn_data(instruction, bytes, length);
	if (!copies_instructions)
		memcpy(bytes, (const void *)at, length);
	return length;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
	size_t length = qemu_plugin_tb_n_insns(block);
	uint8_t bytes[16];
	uint32_t value;

	(void)id;
	for (size_t i = 0; i < length; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
		enum place place = place_of(qemu_plugin_insn_vaddr(instruction));

		if (place == USER &&
		    is_mark(bytes, bytes_of(instruction, bytes, sizeof(bytes)), &value))
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_mark,
							       QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(uintptr_t)value);
		else if (counters)
			qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
				instruction, QEMU_PLUGIN_INLINE_ADD_U64, counter(place), 1);
		else
			qemu_plugin_register_vcpu_insn_exec_inline(
				instruction, QEMU_PLUGIN_INLINE_ADD_U64, &counts[place], 1);
	}
}

static int parse(const char *argument)
{
	char end;

	if (!strncmp(argument, "marks=", 6)) {
		marks = fopen(argument + 6, "we");
		if (!marks)
			return refuse("%s cannot be written", argument + 6);
	} else if (sscanf(argument, "kernel=%" SCNx64 ":%" SCNx64 "%c", &kernel_first, &kernel_end,
			  &end) != 2) {
		return refuse("unknown argument %s; want marks=FILE and kernel=FIRST:END",
			      argument);
	}
	return 0;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	for (int i = 0; i < argc; i++)
		if (parse(argv[i]))
			return -1;
	if (!marks || kernel_first >= kernel_end)
		return refuse("marks=FILE and kernel=FIRST:END are needed");
	if (!strcmp(info->target_name, "x86_64"))
		is_mark = is_mark_x86_64;
	else if (!strcmp(info->target_name, "aarch64"))
		is_mark = is_mark_aarch64;
	else
		return refuse("no marks are known for %s", info->target_name);
	copies_instructions = info->version.cur >= 3;
	if (qemu_plugin_scoreboard_new)
		counters = qemu_plugin_scoreboard_new(PLACES * sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
