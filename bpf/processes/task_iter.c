// SPDX-License-Identifier: MIT
/*
 * Polling without /proc: reads a task iterator to its end, one system call for all processes, and
 * finds what changed in shared memory. Nothing is attached to any event; between two scrapes it costs
 * nothing.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "loader.h"
#include "loader_reason.h"
#include "processes.h"
#include "task_iter.h"

/* so that an entry that no walk has seen is one that the walk before the first did not see */
#define FIRST_WALK 2

EMBED_BPF_OBJECT("task_iter");

static long long entry_count = 32768;
static struct bpf_object *object;
static struct bpf_link *iterator;
static struct task_iter_state *state;
static struct process_entry *entries;
static const uint64_t *changed;
static struct process_facts facts = {.idle_ns = -1};
static uint64_t tick_ns;
static uint32_t scrapes;

/* Runs the program on every task. */
static void walk(void)
{
	int fd = bpf_iter_create(bpf_link__fd(iterator));
	ssize_t length;
	char nothing;

	if (fd < 0)
		collector_exit(EXIT_FAILED, "task iterator: %s", strerror(-fd));
	do { /* after a million tasks the kernel wants to be asked again */
		length = read(fd, &nothing, sizeof(nothing));
	} while (length < 0 && (errno == EAGAIN || errno == EINTR));
	if (length < 0)
		collector_exit(EXIT_FAILED, "task iterator: %s", strerror(errno));
	close(fd);
}

static uint64_t scrape(void)
{
	uint64_t at_ns = monotonic_ns();

	state->scan = scrapes++ + FIRST_WALK;
	state->length = 0;
	walk();
	facts.length = 0;
	for (uint32_t i = 0; i < state->length; i++) {
		struct process_entry *entry = &entries[changed[i]];
		uint64_t reported_ns = entry->reported_ns;
		struct process_fact *fact;

		/* what a thread used may be seen twice while it ends: the next walk puts it right */
		if (entry->used_ns <= reported_ns)
			continue;
		entry->reported_ns = entry->used_ns;
		if (state->scan == FIRST_WALK) /* a baseline */
			continue;
		fact = process_facts_add(&facts);
		fact->pid = entry->tgid;
		fact->start_ticks = entry->start / tick_ns;
		fact->cpu_ns = entry->used_ns - reported_ns;
	}
	return at_ns;
}

static void open_task_iter(void)
{
	struct bpf_program *program;
	uint32_t count = 1, mask;

	loader_need_initial_pid_namespace();
	tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	while (count < entry_count)
		count *= 2;
	mask = count - 1;
	object = open_embedded();
	program = loader_program(object, "task_iter");
	loader_set_constant(object, "entry_mask", &mask, sizeof(mask));
	bpf_map__set_max_entries(loader_map(object, "entries"), count);
	bpf_map__set_max_entries(loader_map(object, "changed"), count);
	loader_load(object);
	state = loader_mmap(loader_map(object, ".bss"), true);
	entries = loader_mmap(loader_map(object, "entries"), true);
	changed = loader_mmap(loader_map(object, "changed"), false);
	iterator = bpf_program__attach(program);
	if (!iterator)
		reason_exit("attach", -errno);
}

static void dump(FILE *out)
{
	process_facts_dump(&facts, out);
}

static void count(struct collector_counts *counts)
{
	counts->records = facts.length;
	counts->lost = state->lost;
}

static void close_task_iter(void)
{
	bpf_object__close(object);
}

int main(int argc, char **argv)
{
	static const struct collector_option options[] = {
		{"--entries", &entry_count, 1, 1 << 22, .help = "processes known at a time"},
		{0},
	};
	static const struct collector task_iter = {
		.name = "task_iter",
		.options = options,
		.open = open_task_iter,
		.scrape = scrape,
		.dump = dump,
		.count = count,
		.close = close_task_iter,
	};

	return collector_main(argc, argv, &task_iter);
}
