// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "collector.h"
#include "sensor_hooks.h"
#include "sensor_print.h"

/* Where facts go: ,"name":value or  name=value */
struct sink {
	FILE *out;
	bool json;
};

static void put_name(const struct sink *sink, const char *name)
{
	fprintf(sink->out, sink->json ? ",\"%s\":" : "  %s=", name);
}

static void put_number(const struct sink *sink, const char *name, long long value)
{
	put_name(sink, name);
	fprintf(sink->out, "%lld", value);
}

static void put_octal(const struct sink *sink, const char *name, unsigned int value)
{
	put_name(sink, name);
	fprintf(sink->out, sink->json ? "%u" : "%#o", value);
}

/* An id that a system call leaves as it is */
static void put_id(const struct sink *sink, const char *name, uint32_t id)
{
	if (id != NO_ID) {
		put_number(sink, name, id);
		return;
	}
	put_name(sink, name);
	fputs(sink->json ? "null" : "same", sink->out);
}

static void put_bytes(const struct sink *sink, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = text[i];

		if (c < ' ' || c == 127 || (sink->json && (c == '"' || c == '\\' || c > 127)))
			fprintf(sink->out, sink->json ? "\\u%04x" : "\\x%02x", c);
		else
			fputc(c, sink->out);
	}
}

static void put_text(const struct sink *sink, const char *name, const char *text, size_t bytes)
{
	put_name(sink, name);
	fputs(sink->json ? "\"" : "", sink->out);
	put_bytes(sink, text, bytes);
	fputs(sink->json ? "\"" : "", sink->out);
}

/* An abstract name of a local socket begins with a NUL, which is written as @. */
static void put_path(const struct sink *sink, const char *name, const struct path_text *path)
{
	size_t bytes = path->bits / 8, length = strnlen(path->bytes, bytes);

	if (!length && bytes > 2) {
		put_name(sink, name);
		fputs(sink->json ? "\"@" : "@", sink->out);
		put_bytes(sink, path->bytes + 1, bytes - 2);
		fputs(sink->json ? "\"" : "", sink->out);
		return;
	}
	put_text(sink, name, path->bytes, length);
}

static void put_paths(const struct sink *sink, const struct event_with_two_paths *event)
{
	bool unread = event->head.flags & EVENT_UNREAD;
	const char *second = event->head.kind == EVENT_RENAME ? "to" : "source";

	if (!(event->head.flags & EVENT_PATH))
		return;
	if (unread && event->path.bits <= 8) {
		put_name(sink, "path");
		fputs(sink->json ? "null" : "?", sink->out);
	} else {
		put_path(sink, "path", &event->path);
	}
	if (event->head.flags & EVENT_SECOND)
		put_path(sink, second, &event->second);
	if (event->head.flags & EVENT_TRUNCATED)
		put_number(sink, "truncated", 1);
}

static void put_endpoint(const struct sink *sink, const struct endpoint *end)
{
	char address[INET6_ADDRSTRLEN] = "";

	put_number(sink, "family", end->family);
	if (end->family != AF_INET && end->family != AF_INET6)
		return;
	inet_ntop(end->family, end->address, address, sizeof(address));
	put_text(sink, "address", address, strlen(address));
	put_number(sink, "port", end->port);
	if (end->local_port)
		put_number(sink, "local_port", end->local_port);
}

static void put_flow(const struct sink *sink, const struct event *event)
{
	const struct flow *flow = &event->facts.flow;

	put_endpoint(sink, &flow->peer);
	put_number(sink, "sent", flow->sent);
	put_number(sink, "received", flow->received);
	put_number(sink, "sends", flow->sends);
	put_number(sink, "receives", flow->receives);
	put_number(sink, "ended", !!(event->flags & EVENT_ENDED));
}

static void put_facts(const struct sink *sink, const struct event *event)
{
	const union facts *facts = &event->facts;

	switch (event->kind) {
	case EVENT_EXECVE:
		break;
	case EVENT_EXECVEAT:
		put_number(sink, "directory", facts->exec.directory);
		put_number(sink, "flags", facts->exec.flags);
		break;
	case EVENT_CONNECT:
	case EVENT_ACCEPT:
	case EVENT_BIND:
		put_endpoint(sink, &facts->peer);
		break;
	case EVENT_FILE_OPEN:
		put_octal(sink, "flags", facts->open.flags);
		break;
	case EVENT_BPRM_CHECK:
		put_number(sink, "inode", facts->binary.inode);
		put_number(sink, "device", facts->binary.device);
		put_octal(sink, "mode", facts->binary.mode);
		break;
	case EVENT_TCP_SENDMSG:
	case EVENT_TCP_CLEANUP_RBUF:
		put_number(sink, "bytes", facts->message.bytes);
		put_endpoint(sink, &facts->message.peer);
		break;
	case EVENT_SOCK_CREATE:
		put_number(sink, "family", facts->socket.family);
		put_number(sink, "type", facts->socket.type);
		put_number(sink, "protocol", facts->socket.protocol);
		break;
	case EVENT_FORK:
		put_number(sink, "child", facts->fork.child);
		break;
	case EVENT_EXIT:
		put_number(sink, "status", facts->exit.code >> 8 & 0xff);
		put_number(sink, "signal", facts->exit.code & 0x7f);
		break;
	case EVENT_SETUID:
		put_number(sink, "from_uid", facts->ids.from_uid);
		put_number(sink, "from_euid", facts->ids.from_euid);
		put_id(sink, "to_uid", facts->ids.to_uid);
		put_id(sink, "to_euid", facts->ids.to_euid);
		break;
	case EVENT_PTRACE:
		put_number(sink, "target", facts->ptrace.target);
		put_number(sink, "request", facts->ptrace.request);
		break;
	case EVENT_MOUNT:
		put_text(sink, "type", facts->mount.type, strnlen(facts->mount.type, TYPE_ROOM));
		put_number(sink, "flags", facts->mount.flags);
		break;
	case EVENT_UMOUNT:
		put_number(sink, "flags", facts->mount.flags);
		break;
	case EVENT_BPF:
		put_number(sink, "command", facts->bpf.command);
		put_number(sink, "size", facts->bpf.size);
		break;
	case EVENT_RENAME:
		put_number(sink, "flags", facts->rename.flags);
		break;
	case EVENT_CHMOD:
		put_octal(sink, "mode", facts->chmod.mode);
		break;
	case EVENT_KILL:
		put_number(sink, "target", facts->kill.target);
		put_number(sink, "signal", facts->kill.signal);
		break;
	case EVENT_FLOW:
		put_flow(sink, event);
		break;
	}
}

void print_json(FILE *out, const struct event_with_two_paths *event)
{
	const struct sink sink = {out, true};
	const struct event *head = &event->head;

	fprintf(out, "{\"kind\":\"%s\",\"time_ns\":%llu,\"tgid\":%u,\"tid\":%u,\"uid\":%u",
		kind_name(head->kind), (unsigned long long)head->time_ns, head->tgid, head->tid,
		head->uid);
	put_number(&sink, "cgroup", head->cgroup);
	put_text(&sink, "comm", head->comm, strnlen(head->comm, COMM_ROOM));
	put_facts(&sink, head);
	put_paths(&sink, event);
	fputc('}', out);
}

/* The kernel stamps events with a clock that knows no time of day. */
static void put_time(FILE *out, uint64_t time_ns)
{
	struct timespec now;
	struct tm local;
	int64_t at_ns;
	time_t second;

	clock_gettime(CLOCK_REALTIME, &now);
	at_ns = now.tv_sec * (int64_t)NSEC_PER_SEC + now.tv_nsec - (monotonic_ns() - time_ns);
	second = at_ns / NSEC_PER_SEC;
	localtime_r(&second, &local);
	fprintf(out, "%02d:%02d:%02d.%06lld", local.tm_hour, local.tm_min, local.tm_sec,
		(long long)(at_ns % (int64_t)NSEC_PER_SEC / 1000));
}

void print_line(FILE *out, const struct event_with_two_paths *event)
{
	const struct sink sink = {out, false};
	const struct event *head = &event->head;
	int written;

	put_time(out, head->time_ns);
	fprintf(out, "  %-16s ", kind_name(head->kind));
	put_bytes(&sink, head->comm, strnlen(head->comm, COMM_ROOM));
	written = fprintf(out, "[%u]", head->tgid) + strnlen(head->comm, COMM_ROOM);
	fprintf(out, "%*s", written < 24 ? 24 - written : 1, "");
	fprintf(out, "uid=%u", head->uid);
	put_paths(&sink, event);
	put_facts(&sink, head);
	fputc('\n', out);
}
