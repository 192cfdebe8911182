// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The programs of the sensor, by theme. For each hook there is a body and several ways to it: a program
 * of the kernel's security framework (LSM), one at a function's entry (fentry, or fexit where the result
 * counts), a kprobe at the same function, and tracepoints. sensor_hooks.c says which are which hook's
 * and in which order they are tried; only those that are chosen are loaded.
 */
#include "bytes.bpf.h"
#include "exec.bpf.h"
#include "files.bpf.h"
#include "mounts.bpf.h"
#include "network.bpf.h"
#include "privileges.bpf.h"
#include "received.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
