// SPDX-License-Identifier: MIT
/*
 * The reader's side of the path filter finds what the kernel's trie finds: some entry that the path
 * begins with, where the entry of a single file has the NUL at its end. Entries are sorted by length, so
 * that one search for each length that occurs tells.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "sensor_paths.h"

#define SYNTHETIC_LETTERS 8

struct path_entry {
	char text[PATH_LONGEST + 1];
	size_t bytes; /* to compare */
};

const char *path_set_add(struct path_set *set, const char *path, size_t length)
{
	struct path_entry *entry;

	if (!length)
		return "an empty path";
	if (path[0] != '/')
		return "a path must begin with /";
	if (length > PATH_LONGEST)
		return "a path of more than 254 bytes, the most that the trie can hold";
	if (memchr(path, 0, length))
		return "a path with a NUL in it";
	if (set->length == set->capacity) {
		set->capacity = set->capacity ? 2 * set->capacity : 64;
		set->list = realloc(set->list, set->capacity * sizeof(*set->list));
		if (!set->list)
			collector_exit(EXIT_FAILED, "out of memory at %zu paths", set->length);
	}
	entry = &set->list[set->length++];
	memset(entry, 0, sizeof(*entry));
	memcpy(entry->text, path, length);
	entry->bytes = path[length - 1] == '/' ? length : length + 1;
	set->sorted = false;
	return NULL;
}

/* splitmix64, by Steele, Lea and Flood (2014): the trie gets branches all over, as by real names. */
static uint64_t scramble(uint64_t number)
{
	number += 0x9e3779b97f4a7c15ull;
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9ull;
	number = (number ^ number >> 27) * 0x94d049bb133111ebull;
	return number ^ number >> 31;
}

void path_set_add_synthetic(struct path_set *set, long long count)
{
	char path[SYNTHETIC_LETTERS + 3] = "/";

	for (long long i = 0; i < count; i++) {
		uint64_t number = scramble(i);

		for (int at = 1; at <= SYNTHETIC_LETTERS; at++, number /= 26)
			path[at] = 'a' + number % 26;
		path[SYNTHETIC_LETTERS + 1] = '/';
		path_set_add(set, path, SYNTHETIC_LETTERS + 2);
	}
}

void path_set_clear(struct path_set *set)
{
	set->length = 0;
	set->sorted = false;
}

static int compare(const void *a, const void *b)
{
	const struct path_entry *left = a, *right = b;

	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? -1 : 1;
	return memcmp(left->text, right->text, left->bytes);
}

/* The entries of one length, sorted: begin to end. */
static bool holds_one(const struct path_entry *list, size_t begin, size_t end, const char *path)
{
	size_t bytes = list[begin].bytes;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		int order = memcmp(path, list[middle].text, bytes);

		if (!order)
			return true;
		if (order < 0)
			end = middle;
		else
			begin = middle + 1;
	}
	return false;
}

bool path_set_holds(struct path_set *set, const char *path, size_t bytes)
{
	size_t begin = 0, end;

	if (!set->sorted) {
		if (set->length)
			qsort(set->list, set->length, sizeof(*set->list), compare);
		set->sorted = true;
	}
	for (; begin < set->length && set->list[begin].bytes <= bytes; begin = end) {
		for (end = begin + 1; end < set->length; end++)
			if (set->list[end].bytes != set->list[begin].bytes)
				break;
		if (holds_one(set->list, begin, end, path))
			return true;
	}
	return false;
}

int path_set_fill(const struct path_set *set, int trie_fd)
{
	for (size_t i = 0; i < set->length; i++) {
		struct path_text key = {.bits = 8 * set->list[i].bytes};
		uint8_t inside = 1;

		memcpy(key.bytes, set->list[i].text, set->list[i].bytes);
		if (bpf_map_update_elem(trie_fd, &key, &inside, BPF_ANY))
			return -errno;
	}
	return 0;
}
