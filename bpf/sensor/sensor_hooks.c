// SPDX-License-Identifier: MIT
/*
 * The ladder of each hook. The exec hooks are tracepoints in the source too, and a cgroup program has
 * no other way. Where the framework has no function that knows the fact (a new process's id, the bytes
 * really sent), that rung is missing.
 */
#include <string.h>

#include "sensor_hooks.h"

/* The three programs that ON_SECURITY() makes of a body. */
#define BY_SECURITY(name)                                 \
	{LSM, {name "_lsm"}}, {FENTRY, {name "_fentry"}}, \
	{                                                 \
		KPROBE,                                   \
		{                                         \
			name "_kprobe"                    \
		}                                         \
	}
#define BY_TWO(name, other)                                                              \
	{LSM, {name "_lsm", other "_lsm"}}, {FENTRY, {name "_fentry", other "_fentry"}}, \
	{                                                                                \
		KPROBE,                                                                  \
		{                                                                        \
			name "_kprobe", other "_kprobe"                                  \
		}                                                                        \
	}

const struct hook hooks[HOOKS] = {
	{"execve", "programs that are to be executed", {{TRACEPOINT, {"enter_execve"}}}},
	{"execveat",
	 "the same, relative to an open folder or file",
	 {{TRACEPOINT, {"enter_execveat"}}}},
	{"connect",
	 "connections that are asked for",
	 {BY_SECURITY("connect"), {TRACEPOINT, {"enter_connect"}}}},
	{"accept",
	 "connections that were accepted",
	 {BY_SECURITY("accept"), {TRACEPOINT, {"exit_accept4", "exit_accept"}}}},
	{"file_open",
	 "files of the path set that are opened",
	 {BY_SECURITY("open"),
	  {TRACEPOINT, {"enter_openat", "enter_openat2", "enter_open", "enter_creat"}}}},
	{"bprm_check",
	 "binaries about to run: inode, device, mode",
	 {BY_SECURITY("bprm"), {TRACEPOINT, {"bprm_executed"}}}},
	{"tcp_sendmsg",
	 "bytes sent over TCP",
	 {{FENTRY, {"send_fexit"}}, {KPROBE, {"send_kprobe"}}, {TRACEPOINT, {"send_length"}}}},
	{"tcp_cleanup_rbuf",
	 "bytes received over TCP",
	 {{FENTRY, {"receive_fentry"}},
	  {KPROBE, {"receive_kprobe"}},
	  {TRACEPOINT, {"receive_length"}}}},
	{"sock_create", "IP sockets that are made", {{CGROUP, {"sock_create"}}}},
	{"fork",
	 "new processes",
	 {{FENTRY, {"fork_fentry"}}, {KPROBE, {"fork_kprobe"}}, {TRACEPOINT, {"fork_done"}}}},
	{"exit",
	 "processes that ended, and how",
	 {{FENTRY, {"exit_fentry"}},
	  {KPROBE, {"exit_kprobe"}},
	  {TRACEPOINT, {"exit_done"}},
	  {TRACEPOINT, {"exit_first_thread"}}}},
	{"setuid",
	 "changes of user",
	 {BY_SECURITY("setuid"),
	  {TRACEPOINT, {"enter_setresuid", "enter_setreuid", "enter_setuid", "enter_setfsuid"}}}},
	{"ptrace",
	 "processes that are to be traced",
	 {BY_TWO("ptrace", "traceme"), {TRACEPOINT, {"enter_ptrace"}}}},
	{"mount",
	 "mounts",
	 {BY_TWO("mount", "move_mount"), {TRACEPOINT, {"enter_mount", "enter_move_mount"}}}},
	{"umount", "unmounts", {BY_SECURITY("umount"), {TRACEPOINT, {"enter_umount"}}}},
	{"module_load",
	 "kernel modules",
	 {BY_TWO("module", "module_data"),
	  {TRACEPOINT, {"enter_finit_module", "enter_init_module"}}}},
	{"bpf", "uses of bpf(2)", {BY_SECURITY("bpf"), {TRACEPOINT, {"enter_bpf"}}}},
	{"unlink",
	 "files that are removed",
	 {BY_SECURITY("unlink"), {TRACEPOINT, {"enter_unlinkat", "enter_unlink"}}}},
	{"rename",
	 "files that are renamed",
	 {BY_SECURITY("rename"),
	  {TRACEPOINT, {"enter_renameat2", "enter_renameat", "enter_rename"}}}},
	{"chmod",
	 "files whose mode is changed",
	 {BY_SECURITY("chmod"),
	  {TRACEPOINT, {"enter_fchmodat", "enter_fchmod", "enter_chmod", "enter_fchmodat2"}}}},
	{"bind",
	 "sockets that are given an address",
	 {BY_SECURITY("bind"), {TRACEPOINT, {"enter_bind"}}}},
	{"kill",
	 "signals between processes",
	 {BY_SECURITY("kill"), {TRACEPOINT, {"enter_kill", "enter_tgkill", "enter_tkill"}}}},
};

const char *way_name(enum way way)
{
	static const char *const names[WAYS] = {"lsm", "fentry", "kprobe", "tracepoint", "cgroup"};

	return names[way];
}

size_t hook_rungs(const struct hook *hook)
{
	size_t count = 0;

	while (count < MOST_RUNGS && hook->rungs[count].programs[0])
		count++;
	return count;
}

int hook_find(const char *name, size_t length)
{
	for (int i = 0; i < HOOKS; i++)
		if (strlen(hooks[i].name) == length && !memcmp(hooks[i].name, name, length))
			return i;
	return -1;
}

const char *kind_name(unsigned int kind)
{
	return kind < HOOKS ? hooks[kind].name : "flow";
}
