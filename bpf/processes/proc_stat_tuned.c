// SPDX-License-Identifier: MIT
/*
 * Polling of /proc at its best: what proc_stat answers, with less work. The descriptor of every
 * /proc/<pid>/stat stays open and is read from its start; /proc is listed only after a fork; only
 * the fields that are needed are parsed. What is left is the kernel's making of the line.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector.h"
#include "descriptors.h"
#include "fork_counter.h"
#include "processes.h"

#define PID_LIMIT  (1 << 22) /* the largest pid_max of any kernel */
#define LINE_BYTES 512	     /* reaches beyond field 22, whatever the numbers */

struct watched {
	uint32_t pid;
	int fd;	     /* -1: opened for each read */
	bool hidden; /* refused so far: what it used until it is first read is history */
	bool known;  /* start and CPU time are those of the last read */
	uint64_t start_ticks;
	uint64_t cpu_ticks; /* user + system */
};

static struct watched *list;
static size_t length, capacity;
static uint32_t *place; /* position + 1 in the list, by pid; 0: not watched */
static struct process_facts facts = {.idle_ns = -1};
static uint64_t tick_ns;
static long long vanished, denied, kept, most_kept, reopened;
static bool baseline = true;
static DIR *proc;

static uint64_t number(const char **at)
{
	uint64_t value = 0;

	while (isdigit((unsigned char)**at))
		value = value * 10 + (*(*at)++ - '0');
	return value;
}

static void skip_fields(const char **at, int fields)
{
	while (fields)
		fields -= *(*at)++ == ' ';
}

/*
 * The name may hold any byte, blanks, newlines and brackets too: fields start after the LAST ')',
 * which is within the first 100 bytes. The text ends with enough blanks for every field.
 */
static bool parse_stat(const char *text, size_t bytes, bool with_start, uint64_t *cpu_ticks,
		       uint64_t *start_ticks)
{
	const char *at = memrchr(text, ')', bytes);

	if (!at)
		return false;
	skip_fields(&at, 12);
	*cpu_ticks = number(&at);
	if (*at++ != ' ')
		return false;
	*cpu_ticks += number(&at);
	if (*at != ' ')
		return false;
	if (with_start) {
		skip_fields(&at, 7);
		*start_ticks = number(&at);
	}
	return at < text + bytes && *at == ' ';
}

static int open_stat(uint32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* One read from the start of the file; -1 with errno, ESRCH if the process is gone. */
static ssize_t read_line(struct watched *process, char *text)
{
	int fd = process->fd >= 0 ? process->fd : open_stat(process->pid);
	ssize_t bytes = fd < 0 ? -1 : pread(fd, text, LINE_BYTES, 0);
	int error = errno;

	if (bytes == 0) {
		bytes = -1;
		error = ESRCH;
	}
	if (process->fd < 0 && fd >= 0) {
		if (bytes > 0 && kept < most_kept) {
			process->fd = fd;
			kept++;
		} else {
			close(fd);
			reopened += bytes > 0 && !baseline;
		}
	} else if (bytes < 0 && fd >= 0) {
		close(fd);
		process->fd = -1;
		kept--;
	}
	errno = error;
	return bytes;
}

static void keep_fact(const struct watched *process, uint64_t cpu_ticks)
{
	/* first seen: it started since the previous scrape, so all its time is new */
	uint64_t base = process->known ? process->cpu_ticks : process->hidden ? cpu_ticks : 0;
	struct process_fact *fact = process_facts_add(&facts);

	fact->pid = process->pid;
	fact->start_ticks = process->start_ticks;
	fact->cpu_ns = cpu_ticks > base ? (cpu_ticks - base) * tick_ns : 0;
}

/* False if the process is gone. */
static bool read_process(struct watched *process)
{
	char text[LINE_BYTES + 64];
	bool kept_open = process->fd >= 0;
	ssize_t bytes = read_line(process, text);
	uint64_t cpu_ticks, start_ticks = process->start_ticks;

	if (bytes < 0 && kept_open) { /* its id may already be another's */
		vanished++;
		process->known = false;
		bytes = read_line(process, text);
		if (bytes < 0 && (errno == ENOENT || errno == ESRCH))
			return false;
	}
	if (bytes < 0 && (errno == EPERM || errno == EACCES)) {
		denied++;
		process->hidden = true;
		return true;
	}
	if (bytes < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		collector_exit(EXIT_FAILED, "/proc/%u/stat: %s", process->pid, strerror(errno));
	if (bytes < 0) {
		vanished++;
		return false;
	}
	memset(text + bytes, ' ', 64);
	/* an open descriptor stays with its process, so that the start is known */
	if (!parse_stat(text, bytes, !kept_open || !process->known, &cpu_ticks, &start_ticks))
		collector_exit(EXIT_FAILED, "/proc/%u/stat has a form this program does not know",
			       process->pid);
	if (start_ticks != process->start_ticks) /* another process of the same id */
		process->known = false;
	process->start_ticks = start_ticks;
	/* a thread that replaces its process: for a moment its id is that of the ended leader,
	 * which has no time any more */
	if (process->known && cpu_ticks < process->cpu_ticks)
		cpu_ticks = process->cpu_ticks;
	if (!baseline)
		keep_fact(process, cpu_ticks);
	process->cpu_ticks = cpu_ticks;
	process->known = true;
	process->hidden = false;
	return true;
}

static void watch(uint32_t pid)
{
	if (pid >= PID_LIMIT)
		collector_exit(EXIT_FAILED, "/proc lists process %u, beyond %u", pid, PID_LIMIT);
	if (place[pid])
		return;
	if (length == capacity) {
		capacity = capacity ? 2 * capacity : 1024;
		list = realloc(list, capacity * sizeof(*list));
		if (!list)
			collector_exit(EXIT_FAILED, "out of memory at %zu processes", capacity);
	}
	list[length++] = (struct watched){.pid = pid, .fd = -1};
	place[pid] = length;
}

static void forget(size_t index)
{
	place[list[index].pid] = 0;
	list[index] = list[--length];
	if (index < length)
		place[list[index].pid] = index + 1;
}

static void list_processes(void)
{
	struct dirent *entry;

	rewinddir(proc);
	while ((entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			watch(strtoul(entry->d_name, NULL, 10));
}

static uint64_t scrape(void)
{
	uint64_t at_ns = monotonic_ns();

	if (fork_counter_moved())
		list_processes();
	facts.length = 0;
	for (size_t i = 0; i < length;)
		if (read_process(&list[i]))
			i++;
		else
			forget(i);
	baseline = false;
	return at_ns;
}

static void open_proc(void)
{
	proc = opendir("/proc");
	if (!proc || access("/proc/self/stat", R_OK))
		collector_exit(EXIT_UNAVAILABLE, "/proc/self/stat: %s (is /proc mounted?)",
			       strerror(errno));
	tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	place = mmap(NULL, PID_LIMIT * sizeof(*place), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (place == MAP_FAILED)
		collector_exit(EXIT_FAILED, "out of memory for an index of process ids");
	most_kept = descriptors_to_keep();
	fork_counter_open();
}

static void dump(FILE *out)
{
	process_facts_dump(&facts, out);
}

static void count(struct collector_counts *counts)
{
	counts->records = facts.length;
	counts->vanished = vanished;
	counts->denied = denied;
}

static void tell_what_was_not_kept(void)
{
	if (reopened)
		fprintf(stderr,
			"proc_stat_tuned: %lld reads opened their file anew: at most %lld stay "
			"open "
			"(ulimit -n)\n",
			reopened, most_kept);
}

int main(int argc, char **argv)
{
	static const struct collector proc_stat_tuned = {
		.name = "proc_stat_tuned",
		.open = open_proc,
		.scrape = scrape,
		.dump = dump,
		.count = count,
		.close = tell_what_was_not_kept,
	};

	return collector_main(argc, argv, &proc_stat_tuned);
}
