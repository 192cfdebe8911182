// SPDX-License-Identifier: MIT
/* The sensor's YAML: one mapping of names to words, numbers, or lists of words. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "sensor_config.h"

#define MOST_KEYS 32
#define KEY_ROOM  32

static const char *file_name;
static yaml_parser_t parser;

static void bad(size_t line, const char *what, ...) __attribute__((noreturn, format(printf, 2, 3)));

static void bad(size_t line, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	fprintf(stderr, "sensor: %s:%zu: ", file_name, line + 1);
	vfprintf(stderr, what, args);
	fputc('\n', stderr);
	va_end(args);
	exit(EXIT_BAD_ARGUMENTS);
}

static void next(yaml_event_t *event)
{
	const char *nameless[] = {"an anchor", "an alias"};
	bool anchored;

	if (!yaml_parser_parse(&parser, event))
		bad(parser.problem_mark.line, "%s",
		    parser.problem ? parser.problem : "not in UTF-8");
	anchored =
		(event->type == YAML_SCALAR_EVENT && event->data.scalar.anchor) ||
		(event->type == YAML_SEQUENCE_START_EVENT && event->data.sequence_start.anchor) ||
		(event->type == YAML_MAPPING_START_EVENT && event->data.mapping_start.anchor);
	if (anchored || event->type == YAML_ALIAS_EVENT)
		bad(event->start_mark.line, "%s is not understood here", nameless[!anchored]);
}

/* The option of that key: --more-paths is more_paths. */
static const struct collector_option *option_of(const char *key)
{
	for (const struct collector_option *option = config_options; option->name; option++) {
		const char *name = option->name + 2, *at = key;

		while (*name && (*name == *at || (*name == '-' && *at == '_'))) {
			name++;
			at++;
		}
		if (!*name && !*at && strcmp(key, "config"))
			return option;
	}
	return NULL;
}

static void set_word(const struct collector_option *option, size_t line, const char *key,
		     const char *word)
{
	char known[256] = "";

	for (int i = 0; option->words[i]; i++) {
		if (!strcmp(option->words[i], word)) {
			*option->value = i;
			return;
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), " %s",
			 option->words[i]);
	}
	bad(line, "%s: '%.64s': want one of%s", key, word, known);
}

static void set_number(const struct collector_option *option, size_t line, const char *key,
		       const char *text)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno || end == text || *end || number < option->min || number > option->max)
		bad(line, "%s: '%.64s': want a whole number from %lld to %lld", key, text,
		    option->min, option->max);
	*option->value = number;
}

static void add_item(size_t line, const char *key, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value, *wrong;
	bool whole = !strcmp(key, "paths"); /* a path may hold a comma: in a list it is one item */

	if (strlen(text) != event->data.scalar.length)
		bad(line, "%s: a NUL in a text", key);
	if (whole)
		wrong = path_set_add(&config.paths, text, event->data.scalar.length);
	else
		wrong = config_add_hooks(text);
	if (wrong && whole)
		bad(line, "%s: %s: '%.64s'", key, wrong, text);
	if (wrong)
		bad(line, "%s: %s", key, wrong);
}

static void take_list(const char *key)
{
	yaml_event_t event;

	for (;;) {
		next(&event);
		if (event.type == YAML_SEQUENCE_END_EVENT)
			break;
		if (event.type != YAML_SCALAR_EVENT)
			bad(event.start_mark.line, "%s: want a list of words", key);
		add_item(event.start_mark.line, key, &event);
		yaml_event_delete(&event);
	}
	yaml_event_delete(&event);
}

static void take_value(const struct collector_option *option, const char *key)
{
	yaml_event_t event;
	size_t line;

	next(&event);
	line = event.start_mark.line;
	if (event.type == YAML_SEQUENCE_START_EVENT && option->text) {
		take_list(key);
	} else if (event.type == YAML_SCALAR_EVENT && option->text) {
		const char *text = (const char *)event.data.scalar.value, *wrong;

		wrong = !strcmp(key, "paths") ? config_add_paths(text) : config_add_hooks(text);
		if (wrong)
			bad(line, "%s: %s", key, wrong);
	} else if (event.type == YAML_SCALAR_EVENT) {
		const char *text = (const char *)event.data.scalar.value;

		if (option->words)
			set_word(option, line, key, text);
		else
			set_number(option, line, key, text);
	} else {
		bad(line, "%s: want %s", key, option->text ? "a list of words" : "one value");
	}
	yaml_event_delete(&event);
}

static void take_mapping(void)
{
	const struct collector_option *seen[MOST_KEYS], *option;
	yaml_event_t event;
	size_t count = 0;
	char key[KEY_ROOM];

	for (;;) {
		next(&event);
		if (event.type == YAML_MAPPING_END_EVENT)
			break;
		if (event.type != YAML_SCALAR_EVENT)
			bad(event.start_mark.line, "want a key and its value");
		snprintf(key, sizeof(key), "%s", (const char *)event.data.scalar.value);
		option = option_of((const char *)event.data.scalar.value);
		if (!option) {
			fprintf(stderr, "sensor: %s:%zu: unknown key '%.64s'; known are", file_name,
				event.start_mark.line + 1, (const char *)event.data.scalar.value);
			for (option = config_options + 1; option->name; option++) {
				fputc(' ', stderr);
				for (const char *c = option->name + 2; *c; c++)
					fputc(*c == '-' ? '_' : *c, stderr);
			}
			fputc('\n', stderr);
			exit(EXIT_BAD_ARGUMENTS);
		}
		for (size_t i = 0; i < count; i++)
			if (seen[i] == option)
				bad(event.start_mark.line, "%s is given twice", key);
		seen[count++] = option;
		yaml_event_delete(&event);
		take_value(option, key);
	}
	yaml_event_delete(&event);
}

static void expect(yaml_event_type_t type, const char *what)
{
	yaml_event_t event;

	next(&event);
	if (event.type != type)
		bad(event.start_mark.line, "%s", what);
	yaml_event_delete(&event);
}

void config_read(const char *file)
{
	FILE *in = fopen(file, "re");

	file_name = file;
	if (!in) {
		fprintf(stderr, "sensor: %s: %s\n", file, strerror(errno));
		exit(EXIT_BAD_ARGUMENTS);
	}
	if (!yaml_parser_initialize(&parser)) {
		fputs("sensor: out of memory\n", stderr);
		exit(EXIT_FAILED);
	}
	yaml_parser_set_input_file(&parser, in);
	expect(YAML_STREAM_START_EVENT, "not a YAML file");
	expect(YAML_DOCUMENT_START_EVENT, "nothing in it; want lines such as buffer: ring");
	expect(YAML_MAPPING_START_EVENT, "want lines such as buffer: ring");
	take_mapping();
	expect(YAML_DOCUMENT_END_EVENT, "something after the end");
	expect(YAML_STREAM_END_EVENT, "a second document");
	yaml_parser_delete(&parser);
	fclose(in);
}
