// SPDX-License-Identifier: MIT
/*
 * Reads what sched_switch.bpf.c shares: takes each CPU's list of changed slots, looks at each, and
 * sums the tasks of each process. No system call, unless another CPU runs something at the moment
 * (one, for all of them) or a displaced task has ended (one each); nothing grows with the slots.
 *
 * The program does without a barrier at each switch, so a change may be made in the moment in which
 * its slot is taken off the list and not be seen. That is why a slot is looked at in two scrapes in
 * a row. `reported_ns` never falls, so no race can count a run twice or lose it.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sched_switch_reader.h"

static struct sched_switch_memory memory;
static uint32_t *touched; /* places looked at in this scrape, the listed ones first */
static uint32_t *recent;  /* places that were listed for the previous one */
static size_t touched_length, listed_length, recent_length;
static uint32_t *fact_index; /* hash of tgid and start -> place in the facts plus one */
static uint32_t fact_mask, fact_capacity;
static struct process_facts facts = {.idle_ns = -1};
static uint64_t scrape_number, tick_ns;
static uint32_t own_pid;

static void *allocate(size_t count, size_t size)
{
	void *zeroed = calloc(count, size);

	if (!zeroed)
		collector_exit(EXIT_FAILED, "out of memory: %zu times %zu bytes", count, size);
	memset(zeroed, 0, count * size); /* touched now, not at the first scrape */
	return zeroed;
}

static struct task_slot *slot_at(uint32_t place)
{
	return &memory.slots[place - 1];
}

static bool is_place(uint32_t place)
{
	return place - 1 < memory.slot_count;
}

static void touch(uint32_t place)
{
	struct task_slot *slot = slot_at(place);

	if (slot->scrape == scrape_number)
		return;
	slot->scrape = scrape_number;
	touched[touched_length++] = place;
}

static void take_lists(void)
{
	for (uint32_t cpu = 0; cpu < memory.cpu_count; cpu++) {
		uint32_t *changed = &memory.cpus[cpu].changed, place, next;

		if (!__atomic_load_n(changed, __ATOMIC_RELAXED))
			continue;
		place = __atomic_exchange_n(changed, 0, __ATOMIC_ACQ_REL);
		for (; is_place(place); place = next) {
			next = __atomic_load_n(&slot_at(place)->next, __ATOMIC_RELAXED);
			__atomic_store_n(&slot_at(place)->next, 0, __ATOMIC_RELEASE);
			touch(place);
		}
	}
	listed_length = touched_length;
	/* between clearing and reading: see bury() */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (size_t i = 0; i < recent_length; i++)
		touch(recent[i]);
}

/* An empty index for as many processes as can come up in this scrape. */
static void clear_facts(void)
{
	uint32_t need = 16;

	while (need < 2 * (touched_length + memory.cpu_count))
		need *= 2;
	if (need > fact_capacity) {
		free(fact_index);
		fact_index = allocate(need, sizeof(*fact_index));
		fact_capacity = need;
	}
	memset(fact_index, 0, need * sizeof(*fact_index));
	fact_mask = need - 1;
	facts.length = 0;
}

/* The record of the slot's process in this scrape; the threads of a process share one. */
static struct process_fact *fact_of(const struct task_slot *slot)
{
	uint64_t start_ticks = slot->start / tick_ns;
	uint64_t hash = (slot->tgid ^ slot->start) * 0x9e3779b97f4a7c15ull;
	struct process_fact *fact;
	uint32_t *entry;

	for (uint32_t i = hash >> 32;; i++) {
		entry = &fact_index[i & fact_mask];
		if (!*entry)
			break;
		fact = &facts.list[*entry - 1];
		if (fact->pid == slot->tgid && fact->start_ticks == start_ticks)
			return fact;
	}
	fact = process_facts_add(&facts);
	*fact = (struct process_fact){slot->tgid, start_ticks, 0};
	*entry = facts.length;
	return fact;
}

static void keep(struct task_slot *slot, uint64_t used_ns)
{
	if (used_ns <= slot->reported_ns)
		return;
	fact_of(slot)->cpu_ns += used_ns - slot->reported_ns;
	slot->reported_ns = used_ns;
}

/* What the CPUs run now. The reader asks if one of them runs something besides the reader, whose own
 * run is the next scrape's. */
static void keep_running(void)
{
	bool busy = false;

	for (uint32_t cpu = 0; cpu < memory.cpu_count; cpu++) {
		uint32_t place = __atomic_load_n(&memory.cpus[cpu].running, __ATOMIC_ACQUIRE);

		if (!is_place(place))
			continue;
		slot_at(place)->ran = scrape_number;
		busy |= slot_at(place)->pid != own_pid;
	}
	if (!busy)
		return;
	memory.sample();
	for (uint32_t cpu = 0; cpu < memory.cpu_count; cpu++)
		if (is_place(memory.samples[cpu].place))
			keep(slot_at(memory.samples[cpu].place), memory.samples[cpu].used_ns);
}

/* `next` stays: a slot that stands in a list again will serve the next task from there. That one has
 * used nothing until the program says so. */
static void release(uint32_t place)
{
	struct task_slot *slot = slot_at(place);

	slot->pid = 0;
	slot->dead = 0;
	slot->used_ns = 0;
	__atomic_store_n(&slot->task, 0, __ATOMIC_RELEASE);
	if (place > memory.direct_count &&
	    bpf_map_update_elem(memory.free_places_fd, NULL, &place, 0))
		collector_exit(EXIT_FAILED, "free_places: %s", strerror(errno));
}

static void keep_touched(void)
{
	recent_length = 0;
	for (size_t i = 0; i < touched_length; i++) {
		struct task_slot *slot = slot_at(touched[i]);
		/* before the count: what was used until the end is final */
		uint32_t dead = __atomic_load_n(&slot->dead, __ATOMIC_ACQUIRE);

		if (!__atomic_load_n(&slot->task, __ATOMIC_ACQUIRE))
			continue;
		keep(slot, __atomic_load_n(&slot->used_ns, __ATOMIC_ACQUIRE));
		dead = dead && dead == slot->pid;
		/* a thread that is about to replace its process may still run on the slot of its
		 * old id, which its leader has taken over and found to be used */
		if (dead && slot->ran != scrape_number)
			release(touched[i]);
		else if (dead || i < listed_length)
			recent[recent_length++] = touched[i];
	}
}

uint64_t sched_switch_scrape(void)
{
	scrape_number++;
	touched_length = 0;
	take_lists();
	clear_facts();
	keep_running();
	keep_touched();
	return monotonic_ns();
}

void sched_switch_reader_start(const struct sched_switch_memory *shared)
{
	memory = *shared;
	own_pid = getpid();
	tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	touched = allocate(memory.slot_count, sizeof(*touched));
	recent = allocate(memory.slot_count, sizeof(*recent));
	for (uint32_t cpu = 0; cpu < memory.cpu_count; cpu++) {
		memory.cpus[cpu].direct_mask = memory.direct_count - 1;
		memory.cpus[cpu].running = UNSEEN;
	}
	for (uint32_t place = memory.slot_count; place > memory.direct_count; place--)
		if (bpf_map_update_elem(memory.free_places_fd, NULL, &place, 0))
			collector_exit(EXIT_UNAVAILABLE, "free_places: %s", strerror(errno));
}

const struct process_facts *sched_switch_facts(void)
{
	return &facts;
}
