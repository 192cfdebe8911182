/* SPDX-License-Identifier: MIT */
/*
 * The part of QEMU's plugin interface that count.c uses. Debian packages no header, and this one
 * serves every version: what only some of them have is weak, so that the same file loads in all.
 *
 *   QEMU 6.0 to 8.2   interface 1: inline operations on any address
 *   QEMU 9.0 on       interface 2: inline operations on scoreboards, a set of numbers for each CPU
 *   QEMU 9.1 on       interface 3: qemu_plugin_insn_data() copies
 */
#ifndef PROBETAX_QEMU_PLUGIN_H
#define PROBETAX_QEMU_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_PLUGIN_EXPORT __attribute__((visibility("default")))
#define WEAK		   __attribute__((weak))

#pragma GCC visibility push(default)

typedef uint64_t qemu_plugin_id_t;

typedef struct qemu_info_t {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
} qemu_info_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;

typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} qemu_plugin_u64;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned int cpu, void *data);
typedef void (*qemu_plugin_vcpu_tb_trans_cb_t)(qemu_plugin_id_t id, struct qemu_plugin_tb *block);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   qemu_plugin_vcpu_tb_trans_cb_t callback);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction,
					    qemu_plugin_vcpu_udata_cb_t callback,
					    enum qemu_plugin_cb_flags flags, void *data);

/* The address of the bytes; from QEMU 9.1 on they are copied to where the further arguments say, which
 * older ones do not look at. */
uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction, void *to,
				size_t length);

WEAK void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *instruction,
						     enum qemu_plugin_op operation, void *number,
						     uint64_t value);

WEAK struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t bytes);
WEAK uint64_t qemu_plugin_u64_sum(qemu_plugin_u64 number);
WEAK void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *instruction,
							      enum qemu_plugin_op operation,
							      qemu_plugin_u64 number,
							      uint64_t value);

#pragma GCC visibility pop

#endif
