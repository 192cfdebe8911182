// SPDX-License-Identifier: MIT
/*
 * Reads what sched_switch.bpf.c shares. A scrape makes no system call but for processes that ended:
 * it takes the logged changes, reads their totals, then the clock, then what each CPU runs now.
 *
 * Totals are read before the CPUs: a run that ends in between is missing from this scrape and part
 * of the next. `reported_ns` never falls, so no race can count a run twice or lose it.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sched_switch_reader.h"

#define SEQUENCE_TRIES 10000

enum retirement { SEEN_DEAD, UNHASH, FREE };

struct known {
	uint64_t total_ns;    /* finished runs, as read in this scrape */
	uint64_t partial_ns;  /* runs under way */
	uint64_t reported_ns; /* handed out so far */
	uint64_t touched;     /* the scrape that read total_ns */
	uint64_t running;     /* the last scrape that saw it on a CPU */
	bool retiring;
};

struct retiree {
	uint32_t slot;
	enum retirement step;
};

static struct sched_switch_memory memory;
static struct known *known;
static uint32_t *touched; /* slots of this scrape */
static size_t touched_length;
static uint32_t change_tail;
static uint64_t *idle_seen;
static struct retiree *retirees;
static size_t retiree_length;
static struct process_facts facts;
static uint64_t scrape_number, tick_ns;

static void touch(uint32_t slot)
{
	struct known *process = &known[slot];

	if (process->touched == scrape_number)
		return;
	process->touched = scrape_number;
	process->partial_ns = 0;
	process->total_ns = __atomic_load_n(&memory.slots[slot].ns, __ATOMIC_ACQUIRE);
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
		/* a full barrier between clearing and reading: see charge() */
		__atomic_exchange_n(&memory.slots[entry - 1].queued, 0, __ATOMIC_SEQ_CST);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		touch(entry - 1);
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
		if (!copy.tgid || copy.slot >= memory.slot_count)
			continue;
		known[copy.slot].running = scrape_number;
		/* switched in after the totals were read: next time */
		if (known[copy.slot].touched == scrape_number)
			known[copy.slot].partial_ns += ran;
	}
	return all_seen;
}

static void retire_later(uint32_t slot)
{
	known[slot].retiring = true;
	retirees[retiree_length++] = (struct retiree){slot, SEEN_DEAD};
}

static void keep_facts(void)
{
	for (size_t i = 0; i < touched_length; i++) {
		uint32_t slot = touched[i];
		uint64_t sum = known[slot].total_ns + known[slot].partial_ns;

		if (__atomic_load_n(&memory.slots[slot].dead, __ATOMIC_RELAXED) &&
		    !known[slot].retiring)
			retire_later(slot);
		if (sum > known[slot].reported_ns) {
			struct process_fact *fact = process_facts_add(&facts);

			fact->pid = memory.slots[slot].tgid;
			fact->start_ticks = memory.slots[slot].start / tick_ns;
			fact->cpu_ns = sum - known[slot].reported_ns;
			known[slot].reported_ns = sum;
		}
	}
}

/* Nothing can reach the slot any more: out of the hash, on no CPU, every change taken. */
static bool is_released(uint32_t slot)
{
	return known[slot].running != scrape_number &&
	       !__atomic_load_n(&memory.slots[slot].queued, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&memory.slots[slot].ns, __ATOMIC_ACQUIRE) == known[slot].reported_ns;
}

/*
 * A dead process keeps its slot for a scrape, so that threads that leave after the last one find
 * it, then leaves the hash, and is freed once each CPU was seen outside the program since.
 */
static void retire(bool all_seen)
{
	size_t kept = 0;

	for (size_t i = 0; i < retiree_length; i++) {
		struct retiree retiree = retirees[i];
		struct process_slot *slot = &memory.slots[retiree.slot];
		struct process_key key = {.tgid = slot->tgid, .start = slot->start};

		if (retiree.step == UNHASH)
			bpf_map_delete_elem(memory.processes_fd, &key);
		if (retiree.step == FREE && all_seen && is_released(retiree.slot)) {
			slot->ns = 0;
			slot->dead = 0;
			memset(&known[retiree.slot], 0, sizeof(*known));
			bpf_map_update_elem(memory.free_slots_fd, NULL, &retiree.slot, 0);
			continue;
		}
		if (retiree.step != FREE)
			retiree.step++;
		retirees[kept++] = retiree;
	}
	retiree_length = kept;
}

uint64_t sched_switch_scrape(void)
{
	uint64_t now;
	bool all_seen;

	scrape_number++;
	touched_length = 0;
	facts.length = 0;
	take_changes();
	for (uint32_t cpu = 0; cpu < memory.cpu_count; cpu++) {
		uint32_t slot = __atomic_load_n(&memory.cpus[cpu].slot, __ATOMIC_ACQUIRE);

		if (slot < memory.slot_count &&
		    __atomic_load_n(&memory.cpus[cpu].tgid, __ATOMIC_RELAXED))
			touch(slot);
	}
	now = monotonic_ns();
	all_seen = add_running(now);
	keep_facts();
	retire(all_seen);
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
	known = allocate(memory.slot_count, sizeof(*known));
	touched = allocate(memory.slot_count, sizeof(*touched));
	retirees = allocate(memory.slot_count, sizeof(*retirees));
	idle_seen = allocate(memory.cpu_count, sizeof(*idle_seen));
	for (uint32_t slot = memory.slot_count; slot-- > 0;)
		if (bpf_map_update_elem(memory.free_slots_fd, NULL, &slot, 0))
			collector_exit(EXIT_UNAVAILABLE, "free_slots: %s", strerror(errno));
}

const struct process_facts *sched_switch_facts(void)
{
	return &facts;
}
