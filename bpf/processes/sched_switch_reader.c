// SPDX-License-Identifier: MIT
/*
 * Reads what sched_switch.bpf.c shares. A scrape makes no system call but one for each task that
 * ended: it takes the logged changes, then the clock, then what each CPU runs now, and sums the
 * tasks of each process.
 *
 * The tasks' figures are read before the CPUs: a run that ends in between is missing from this
 * scrape and part of the next. `reported_ns` never falls, so no race can count a run twice or lose
 * it. A run under way is taken by the wall clock; time stolen from it comes off once it has ended.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sched_switch_reader.h"

#define SEQUENCE_TRIES 10000

/* What this scrape has read of a task. */
struct reading {
	uint64_t scrape;
	uint64_t used_ns;    /* finished runs */
	uint64_t partial_ns; /* the run under way */
	bool dead;
};

/* Where a process stands in the facts of a scrape. */
struct place {
	uint64_t scrape;
	uint64_t start;
	size_t fact;
};

static struct sched_switch_memory memory;
static struct reading *readings; /* by slot */
static uint32_t *touched;	 /* slots read in this scrape */
static size_t touched_length;
static struct place *places; /* hash of tgid and start; a power of two, twice the slots or more */
static uint32_t place_mask;
static uint32_t change_tail;
static uint64_t *idle_seen; /* by CPU */
static struct process_facts facts;
static uint64_t scrape_number, tick_ns;

static void touch(uint32_t slot)
{
	struct reading *reading = &readings[slot];

	if (reading->scrape == scrape_number)
		return;
	reading->scrape = scrape_number;
	reading->partial_ns = 0;
	reading->used_ns = __atomic_load_n(&memory.slots[slot].used_ns, __ATOMIC_ACQUIRE);
	reading->dead = __atomic_load_n(&memory.slots[slot].dead, __ATOMIC_ACQUIRE);
	touched[touched_length++] = slot;
}

static void take_changes(void)
{
	uint32_t head = __atomic_load_n(&memory.counters->log_head, __ATOMIC_ACQUIRE);

	while (change_tail != head) {
		uint64_t *change = &memory.changes[change_tail & memory.change_mask];
		uint64_t entry = __atomic_load_n(change, __ATOMIC_ACQUIRE);

		if (!entry) /* a CPU is about to write it: next time */
			break;
		__atomic_store_n(change, 0, __ATOMIC_RELAXED);
		change_tail++;
		/* a full barrier between clearing and reading: see note() */
		__atomic_exchange_n(&memory.slots[entry - 1].queued, 0, __ATOMIC_SEQ_CST);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		touch(entry - 1);
	}
}

static void touch_running(void)
{
	for (uint32_t cpu = 0; cpu < memory.cpu_count; cpu++) {
		uint32_t slot = __atomic_load_n(&memory.cpus[cpu].slot, __ATOMIC_ACQUIRE);

		if (slot < memory.slot_count &&
		    __atomic_load_n(&memory.cpus[cpu].tgid, __ATOMIC_RELAXED))
			touch(slot);
	}
}

static bool read_cpu(uint32_t cpu, struct cpu_record *copy)
{
	const volatile struct cpu_record *record = &memory.cpus[cpu];

	for (int i = 0; i < SEQUENCE_TRIES; i++) {
		uint32_t sequence = __atomic_load_n(&record->sequence, __ATOMIC_ACQUIRE);

		if (sequence & 1)
			continue;
		copy->slot = record->slot;
		copy->tgid = record->tgid;
		copy->since_ns = record->since_ns;
		copy->idle_ns = record->idle_ns;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&record->sequence, __ATOMIC_RELAXED) == sequence)
			return true;
	}
	return false;
}

/* Adds what is under way; false if a CPU was in mid-update all the time (its host took it away). */
static bool add_running(uint64_t now)
{
	bool all_seen = true;
	struct cpu_record copy;

	facts.idle_ns = 0;
	for (uint32_t cpu = 0; cpu < memory.cpu_count; cpu++) {
		uint64_t ran, idle;

		if (!read_cpu(cpu, &copy)) {
			all_seen = false;
			continue;
		}
		ran = copy.since_ns && now > copy.since_ns ? now - copy.since_ns : 0;
		idle = copy.idle_ns + (copy.tgid ? 0 : ran);
		if (idle > idle_seen[cpu]) {
			facts.idle_ns += idle - idle_seen[cpu];
			idle_seen[cpu] = idle;
		}
		/* a task that came after its figures were read: next time */
		if (copy.tgid && copy.slot < memory.slot_count &&
		    readings[copy.slot].scrape == scrape_number)
			readings[copy.slot].partial_ns = ran;
	}
	return all_seen;
}

/* The record of the slot's process in this scrape; the threads of a process share one. */
static struct process_fact *fact_of(const struct task_slot *slot)
{
	uint64_t hash = (slot->tgid ^ slot->start) * 0x9e3779b97f4a7c15ull;
	struct process_fact *fact;
	struct place *place;

	for (uint32_t i = hash >> 32;; i++) {
		place = &places[i & place_mask];
		if (place->scrape != scrape_number)
			break;
		if (place->start == slot->start && facts.list[place->fact].pid == slot->tgid)
			return &facts.list[place->fact];
	}
	*place = (struct place){scrape_number, slot->start, facts.length};
	fact = process_facts_add(&facts);
	*fact = (struct process_fact){slot->tgid, slot->start / tick_ns, 0};
	return fact;
}

static void release(uint32_t index)
{
	struct task_slot *slot = &memory.slots[index];

	/* `queued` stays: if it stands in the log, that entry will serve the next task */
	slot->reported_ns = 0;
	slot->used_ns = 0;
	slot->dead = 0;
	if (bpf_map_update_elem(memory.free_slots_fd, NULL, &index, 0))
		collector_exit(EXIT_FAILED, "free_slots: %s", strerror(errno));
}

/* `settled`: every CPU was seen outside the program since the tasks were read, so what it says of
 * those that were dead by then is final. */
static void keep_facts(bool settled)
{
	for (size_t i = 0; i < touched_length; i++) {
		uint32_t index = touched[i];
		struct task_slot *slot = &memory.slots[index];
		bool over = settled && readings[index].dead;
		uint64_t sum = readings[index].used_ns + readings[index].partial_ns;

		if (over)
			sum = __atomic_load_n(&slot->used_ns, __ATOMIC_ACQUIRE);
		if (sum > slot->reported_ns) {
			fact_of(slot)->cpu_ns += sum - slot->reported_ns;
			slot->reported_ns = sum;
		}
		if (over)
			release(index);
	}
}

uint64_t sched_switch_scrape(void)
{
	uint64_t now;

	scrape_number++;
	touched_length = 0;
	facts.length = 0;
	take_changes();
	touch_running();
	now = monotonic_ns();
	keep_facts(add_running(now));
	return now;
}

static void *allocate(size_t count, size_t size)
{
	void *zeroed = calloc(count, size);

	if (!zeroed)
		collector_exit(EXIT_FAILED, "out of memory: %zu times %zu bytes", count, size);
	memset(zeroed, 0, count * size); /* touched now, not at the first scrape */
	return zeroed;
}

void sched_switch_reader_start(const struct sched_switch_memory *shared)
{
	memory = *shared;
	tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	readings = allocate(memory.slot_count, sizeof(*readings));
	touched = allocate(memory.slot_count, sizeof(*touched));
	place_mask = 2 * memory.change_mask + 1;
	places = allocate(place_mask + 1, sizeof(*places));
	idle_seen = allocate(memory.cpu_count, sizeof(*idle_seen));
	for (uint32_t slot = memory.slot_count; slot-- > 0;)
		if (bpf_map_update_elem(memory.free_slots_fd, NULL, &slot, 0))
			collector_exit(EXIT_UNAVAILABLE, "free_slots: %s", strerror(errno));
}

const struct process_facts *sched_switch_facts(void)
{
	return &facts;
}
