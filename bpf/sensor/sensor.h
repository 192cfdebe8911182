/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What the programs and the reader share: the events, in the form in which they cross the buffer.
 *
 * An event is one of three sizes: without a path, with one, or with two. A path carries its length in
 * bits in front of it, so that it is at the same time the key of the trie that holds the path set.
 */
#ifndef PROBETAX_SENSOR_H
#define PROBETAX_SENSOR_H

#include <linux/types.h>

/* The hooks, in the order of the lists that a person writes, and after them what a program reports of
 * its own accord: the bytes of a socket since the last time. */
enum event_kind {
	EVENT_EXECVE,
	EVENT_EXECVEAT,
	EVENT_CONNECT,
	EVENT_ACCEPT,
	EVENT_FILE_OPEN,
	EVENT_BPRM_CHECK,
	EVENT_TCP_SENDMSG,
	EVENT_TCP_CLEANUP_RBUF,
	EVENT_SOCK_CREATE,
	EVENT_FORK,
	EVENT_EXIT,
	EVENT_SETUID,
	EVENT_PTRACE,
	EVENT_MOUNT,
	EVENT_UMOUNT,
	EVENT_MODULE_LOAD,
	EVENT_BPF,
	EVENT_UNLINK,
	EVENT_RENAME,
	EVENT_CHMOD,
	EVENT_BIND,
	EVENT_KILL,
	HOOKS,
	EVENT_FLOW = HOOKS,
	EVENT_KINDS
};

#define SOURCE_HOOKS (EVENT_SOCK_CREATE + 1) /* those that the source names come first */

enum event_flag {
	EVENT_PATH = 1,	     /* a path follows */
	EVENT_SECOND = 2,    /* and another one */
	EVENT_TRUNCATED = 4, /* a path is longer than its room: this is its beginning */
	EVENT_UNREAD = 8,    /* a path could not be read: its page was not in memory */
	EVENT_ENDED = 16,    /* the socket of these bytes has been closed */
};

#define PATH_ROOM    256 /* also the most that the kernel's trie takes as a key */
#define PATH_LONGEST 254 /* of the configured ones: the NUL and one byte more must fit */
#define COMM_ROOM    16
#define TYPE_ROOM    16

#define SUMS_AT_ONCE 64 /* by one run of the program that takes them */

#define NO_ID 0xffffffffu /* left as it is, as the system calls write it */

/* Ports as people write them; addresses as they are sent. */
struct endpoint {
	__u16 family;
	__u16 port;	  /* of the other side; of a bind, the own one */
	__u16 local_port; /* 0: not known here */
	__u16 unused;
	__u8 address[16];
};

struct flow {
	struct endpoint peer;
	__u64 sent, received;  /* bytes */
	__u32 sends, receives; /* messages */
};

union facts {
	struct {
		__s32 directory; /* that the path is relative to */
		__u32 flags;
	} exec;
	struct {
		__u64 inode;
		__u32 device; /* as the kernel numbers it: major << 20 | minor */
		__u32 mode;
	} binary;
	struct {
		__u32 flags;
	} open;
	struct {
		struct endpoint peer;
		__u64 bytes;
	} message;
	struct endpoint peer;
	struct flow flow;
	struct {
		__u32 family, type, protocol;
	} socket;
	struct {
		__u32 child;
	} fork;
	struct {
		__s32 code; /* as wait() gives it */
	} exit;
	struct {
		__u32 from_uid, from_euid, to_uid, to_euid;
	} ids;
	struct {
		__s32 target;
		__u32 request; /* PTRACE_ATTACH stands for every access of that level */
	} ptrace;
	struct {
		__u64 flags;
		char type[TYPE_ROOM];
	} mount;
	struct {
		__u32 command, size;
	} bpf;
	struct {
		__u32 flags;
	} rename;
	struct {
		__u32 mode;
	} chmod;
	struct {
		__s32 target; /* where a system call is seen, as written there: 0 and below are groups */
		__u32 signal;
	} kill;
};

struct event {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 cgroup;  /* id in the version 2 hierarchy */
	__u32 tgid, tid, uid;
	__u16 kind, flags;
	char comm[COMM_ROOM];
	union facts facts;
};

struct path_text {
	__u32 bits; /* of the bytes in use: with the NUL, unless truncated */
	char bytes[PATH_ROOM];
};

struct event_with_path {
	struct event head;
	struct path_text path;
};

struct event_with_two_paths {
	struct event head;
	struct path_text path;
	struct path_text second;
};

/* What the programs count, each CPU for itself. */
struct sensor_counters {
	__u64 lost;	       /* events for which there was no room, on the way or in a map */
	__u64 kernel_filtered; /* opened files outside of the path set */
};

/* What the program that takes the sums says in the end. */
enum sums { SUMS_DONE, SUMS_MORE, SUMS_NO_ROOM };

enum wakeup { WAKEUP_EACH, WAKEUP_ADAPTIVE, WAKEUP_BATCH, WAKEUP_TICK };

#endif
