// SPDX-License-Identifier: MIT
#include <string.h>

#include "sensor_config.h"

struct config config = {
	.filter = FILTER_KERNEL,
	.buffer = BUFFER_RING,
	.wakeup = BY_BUFFER,
	.batch_kb = 64,
	.buffer_kb = 1024,
	.bytes = BYTES_AGGREGATE,
	.sockets = 16384,
	.rung = RUNG_BEST,
	.missing = MISSING_FAIL,
};

static const char *const filters[] = {"user", "kernel", NULL};
static const char *const buffers[] = {"ring", "perf", NULL};
static const char *const wakeups[] = {"each", "adaptive", "batch", "tick", NULL};
static const char *const byte_modes[] = {"event", "aggregate", "off", NULL};
static const char *const rungs[] = {"lsm", "fentry", "kprobe", "tracepoint", "best", NULL};
static const char *const missing_ways[] = {"fail", "skip", NULL};
static const char default_paths[] = "/etc/,/root/.ssh/,/usr/bin/,/usr/sbin/,/var/run/secrets/";

const struct collector_option config_options[] = {
	{"--config", .text = &config.file_flag, .help = "a YAML file with these flags as keys"},
	{"--hooks", .text = &config.hooks_flag, .help = "which: names, source (9) or all (22)"},
	{"--filter", &config.filter, .words = filters, .help = "where opened files are filtered"},
	{"--paths", .text = &config.paths_flag,
	 .help = "the path set: /etc/ below it, /etc/a alone"},
	{"--more-paths", &config.more_paths, 0, 4096, .help = "further entries that match nothing"},
	{"--buffer", &config.buffer, .words = buffers, .help = "how events reach the reader"},
	{"--wakeup", &config.wakeup, .words = wakeups, .help = "when they wake it"},
	{"--batch-kb", &config.batch_kb, 1, 1 << 20, .help = "how much waits, with --wakeup batch"},
	{"--buffer-kb", &config.buffer_kb, 1, 1 << 20,
	 .help = "room for events, all CPUs together"},
	{"--bytes", &config.bytes, .words = byte_modes,
	 .help = "TCP's: each message, sums, or none"},
	{"--sockets", &config.sockets, 1, 1 << 22, .help = "how many sockets may have sums"},
	{"--rung", &config.rung, .words = rungs,
	 .help = "one way of attaching, where a hook has more"},
	{"--missing", &config.missing, .words = missing_ways,
	 .help = "a hook that cannot be attached"},
	{0},
};

static void want(int from, int to)
{
	for (int i = from; i < to; i++)
		config.wanted[i] = true;
}

const char *config_add_hooks(const char *list)
{
	static char wrong[512];
	const char *at = list;
	size_t length;

	for (;; at += length + 1) {
		int hook;

		length = strcspn(at, ",");
		hook = hook_find(at, length);
		if (hook >= 0)
			want(hook, hook + 1);
		else if (length == 3 && !memcmp(at, "all", length))
			want(0, HOOKS);
		else if (length == 6 && !memcmp(at, "source", length))
			want(0, SOURCE_HOOKS);
		else
			break;
		if (!at[length])
			return NULL;
	}
	snprintf(wrong, sizeof(wrong), "unknown hook '%.*s'; known are all, source",
		 (int)(length < 64 ? length : 64), at);
	for (int i = 0; i < HOOKS; i++)
		snprintf(wrong + strlen(wrong), sizeof(wrong) - strlen(wrong), ", %s",
			 hooks[i].name);
	return wrong;
}

const char *config_add_paths(const char *list)
{
	static char wrong[512];
	size_t length;

	for (const char *at = list;; at += length + 1) {
		const char *why;

		length = strcspn(at, ",");
		why = path_set_add(&config.paths, at, length);
		if (why) {
			snprintf(wrong, sizeof(wrong), "%s: '%.*s%s'", why,
				 (int)(length < 64 ? length : 64), at, length < 64 ? "" : "...");
			return wrong;
		}
		if (!at[length])
			return NULL;
	}
}

void config_finish(void)
{
	const char *wrong = NULL;
	bool any = false;

	if (config.hooks_flag) {
		memset(config.wanted, 0, sizeof(config.wanted));
		wrong = config_add_hooks(config.hooks_flag);
	}
	if (wrong)
		collector_exit(EXIT_BAD_ARGUMENTS, "--hooks: %s", wrong);
	for (int i = 0; i < HOOKS; i++)
		any |= config.wanted[i];
	if (!any)
		want(0, SOURCE_HOOKS);
	if (config.bytes == BYTES_OFF)
		config.wanted[EVENT_TCP_SENDMSG] = config.wanted[EVENT_TCP_CLEANUP_RBUF] = false;

	if (config.paths_flag) {
		path_set_clear(&config.paths);
		wrong = config_add_paths(config.paths_flag);
	} else if (!config.paths.length) {
		wrong = config_add_paths(default_paths);
	}
	if (wrong)
		collector_exit(EXIT_BAD_ARGUMENTS, "--paths: %s", wrong);
	path_set_add_synthetic(&config.paths, config.more_paths);

	if (config.buffer == BUFFER_PERF && config.wakeup == WAKEUP_ADAPTIVE)
		collector_exit(
			EXIT_BAD_ARGUMENTS,
			"--wakeup adaptive: a perf buffer has no such rule; want one of each "
			"batch tick");
	if (config.wakeup == BY_BUFFER)
		config.wakeup = config.buffer == BUFFER_PERF ? WAKEUP_EACH : WAKEUP_ADAPTIVE;
}

void config_help(FILE *out)
{
	fputs("sensor: reports what processes do, from inside the kernel\n\n"
	      "  sensor                          at a terminal: a line for each event\n"
	      "  sensor --watch                  the same, wherever the lines go\n"
	      "  sensor --interval-ms N [...]    as a collector: nothing is printed\n\nFlags:\n",
	      out);
	for (const struct collector_option *option = config_options; option->name; option++) {
		fprintf(out, "  %-14s %s", option->name, option->help);
		for (int i = 0; option->words && option->words[i]; i++)
			fprintf(out, "%s%s", i ? "|" : ": ", option->words[i]);
		if (!option->words && option->max)
			fprintf(out, ": %lld to %lld", option->min, option->max);
		fputc('\n', out);
	}
	fputs("\nHooks, and the ways of attaching that are tried for each:\n", out);
	for (int i = 0; i < HOOKS; i++) {
		if (i == SOURCE_HOOKS)
			fputc('\n', out);
		fprintf(out, "  %-17s %-46s", hooks[i].name, hooks[i].reports);
		for (size_t rung = 0; rung < hook_rungs(&hooks[i]); rung++)
			if (!rung || hooks[i].rungs[rung].way != hooks[i].rungs[rung - 1].way)
				fprintf(out, " %s", way_name(hooks[i].rungs[rung].way));
		fputc('\n', out);
	}
}
