// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core_table.h"

#define READY_FD     3
#define COLUMN	     26 /* characters of a CPU's entry, and of the space after it */
#define NARROW	     80
#define MOST_COLUMNS 16

static bool watched, dumped, on_terminal;
static int drawn; /* lines of the table that stands on the terminal */

int core_table_main(int argc, char **argv, const struct collector *collector)
{
	char *once_a_second[argc + 3];
	bool paced = false;

	for (int i = 0; i < argc; i++) {
		once_a_second[i] = argv[i];
		dumped = dumped || !strcmp(argv[i], "--dump");
		paced = paced || !strcmp(argv[i], "--interval-ms");
	}
	watched = !dumped && fcntl(READY_FD, F_GETFD) < 0;
	on_terminal = isatty(STDOUT_FILENO);
	if (watched && !paced) {
		once_a_second[argc++] = "--interval-ms";
		once_a_second[argc++] = "1000";
	}
	once_a_second[argc] = NULL;
	return collector_main(argc, once_a_second, collector);
}

bool core_table_wants_online(void)
{
	return watched || dumped;
}

static void put_line(const char *text)
{
	printf("%s%s\n", text, on_terminal ? "\033[K" : "");
	drawn++;
}

static double percent_active(uint64_t active_ns, uint64_t of_ns)
{
	double percent = of_ns ? 100.0 * active_ns / of_ns : 0;

	return percent > 100 ? 100 : percent;
}

static void put_entry(char *text, const char *name, double active, bool last)
{
	size_t length = strlen(text);

	snprintf(text + length, MOST_COLUMNS * COLUMN - length, "%-7s %6.2f  %6.2f%s", name, active,
		 100 - active, last ? "" : "   ");
}

/* How many entries stand beside each other: as few as the terminal's lines allow. */
static int columns_for(int cores)
{
	struct winsize size = {.ws_row = 0};
	int wide = NARROW, high = cores, columns;

	if (on_terminal && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col) {
		wide = size.ws_col;
		high = size.ws_row > 6 ? size.ws_row - 5 : 1;
	}
	columns = (cores + high - 1) / high;
	if (columns > wide / COLUMN)
		columns = wide / COLUMN;
	if (columns > MOST_COLUMNS)
		columns = MOST_COLUMNS;
	return columns < 1 ? 1 : columns;
}

static void put_table(const struct core_facts *facts)
{
	uint32_t online[facts->count], cores = 0;
	char text[MOST_COLUMNS * COLUMN], name[16];
	uint64_t active_ns = 0;
	int columns, rows;

	for (uint32_t cpu = 0; cpu < facts->count; cpu++)
		if (facts->list[cpu].online)
			online[cores++] = cpu;
	columns = columns_for(cores);
	rows = (cores + columns - 1) / columns;
	text[0] = 0;
	for (int column = 0; column < columns; column++)
		sprintf(text + strlen(text), "%-7s %6s  %6s%s", "CPU", "active", "id",
			column + 1 < columns ? "   " : "");
	put_line(text);
	for (int row = 0; row < rows; row++) {
		text[0] = 0;
		for (uint32_t n = row; n < cores; n += rows) {
			const struct core_fact *fact = &facts->list[online[n]];

			snprintf(name, sizeof(name), "%u", online[n]);
			put_entry(text, name, percent_active(fact->active_ns, facts->interval_ns),
				  n + rows >= cores);
			active_ns += fact->active_ns;
		}
		put_line(text);
	}
	text[0] = 0;
	put_entry(text, "average", percent_active(active_ns, facts->interval_ns * cores), true);
	put_line(text);
	put_line("% of the time; id: idle, as top names it, time that top shows as wa included");
}

void core_table_show(const struct core_facts *facts)
{
	if (!watched || !facts->interval_ns)
		return;
	if (drawn)
		fputs("\n", stdout);
	if (drawn && on_terminal) /* over the table before */
		printf("\033[%dA\r", drawn + 1);
	drawn = 0;
	put_table(facts);
	if (on_terminal)
		fputs("\033[J", stdout);
	fflush(stdout);
}
