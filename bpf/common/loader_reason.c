// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "collector.h"
#include "loader_reason.h"

#define LOG_LIMIT (8u << 20)

#define CAPABILITY_SYS_ADMIN 21
#define CAPABILITY_PERFMON   38
#define CAPABILITY_BPF	     39

static char *log_text;
static size_t log_length;

static int keep_message(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text, *grown;
	int length;

	if (level == LIBBPF_DEBUG)
		return 0;
	length = vasprintf(&text, format, args);
	if (length < 0)
		return 0;
	if (log_length + length < LOG_LIMIT) {
		grown = realloc(log_text, log_length + length + 1);
		if (grown) {
			log_text = grown;
			memcpy(log_text + log_length, text, length + 1);
			log_length += length;
		}
	}
	free(text);
	return length;
}

void reason_capture(void)
{
	libbpf_set_print(keep_message);
}

static bool has_capability(int capability)
{
	unsigned long long effective = 0;
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "CapEff: %llx", &effective) == 1)
			break;
	if (status)
		fclose(status);
	return effective >> capability & 1;
}

/* The verifier's last word stands before its statistics ("processed N insns ..."). */
static bool verifier_line(char *line, size_t size)
{
	const char *begin = log_text ? strstr(log_text, "BEGIN PROG LOAD LOG") : NULL;
	const char *end;

	if (!begin)
		return false;
	begin = strchr(begin, '\n');
	end = begin ? strstr(begin, "-- END PROG LOAD LOG") : NULL;
	if (!end)
		return false;
	line[0] = 0;
	for (const char *at = begin + 1, *next; at < end; at = next) {
		next = memchr(at, '\n', end - at);
		next = next ? next + 1 : end;
		if (!strncmp(at, "processed ", 10))
			break;
		if (next - at > 1)
			snprintf(line, size, "%.*s", (int)(next - at - 1), at);
	}
	return line[0];
}

/* libbpf reports the cause first and its consequences after it. */
static bool first_libbpf_line(char *line, size_t size)
{
	const char *at = log_text ? strstr(log_text, "libbpf: ") : NULL;

	if (!at)
		return false;
	at += strlen("libbpf: ");
	snprintf(line, size, "%.*s", (int)strcspn(at, "\n"), at);
	return true;
}

void reason_exit(const char *doing, int error)
{
	struct rlimit lock = {0, 0};
	const char *cure = "";
	char line[1024];

	if (getenv("PROBETAX_VERBOSE") && log_text)
		fprintf(stderr, "%s\n", log_text);
	if (error == -EPERM && !has_capability(CAPABILITY_SYS_ADMIN) &&
	    !(has_capability(CAPABILITY_BPF) && has_capability(CAPABILITY_PERFMON)))
		collector_exit(EXIT_UNAVAILABLE,
			       "%s: EPERM: this process lacks CAP_BPF and CAP_PERFMON (or "
			       "CAP_SYS_ADMIN); run it as root",
			       doing);
	getrlimit(RLIMIT_MEMLOCK, &lock);
	if (verifier_line(line, sizeof(line)))
		collector_exit(EXIT_UNAVAILABLE, "%s: %s: the verifier says: %s", doing,
			       strerrorname_np(-error), line);
	if (!first_libbpf_line(line, sizeof(line)))
		collector_exit(EXIT_UNAVAILABLE, "%s: %s", doing, strerror(-error));
	if (error == -EPERM && lock.rlim_cur != RLIM_INFINITY)
		cure = " (the memlock limit may be too low: ulimit -l unlimited)";
	else if (strstr(line, "extern '"))
		cure = " (/proc/kallsyms does not show this symbol: kernel built without "
		       "CONFIG_KALLSYMS_ALL, or kernel.kptr_restrict hides it)";
	collector_exit(EXIT_UNAVAILABLE, "%s: %s: %s%s", doing, strerrorname_np(-error), line,
		       cure);
}
