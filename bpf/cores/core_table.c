// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core_table.h"

#define READY_FD     3
#define COLUMN	     26 /* characters of a CPU's entry, and of the space after it */
#define NARROW	     80
#define MOST_COLUMNS 16

#define LINES_BESIDE 4 /* of the rows: the header, the average, the caption, the cursor's own */

static bool watched, dumped, on_terminal;
static int drawn;		      /* lines of the table that stands on the terminal */
static struct winsize here, drawn_on; /* the terminal now, and as the table was drawn on it */

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

/* A line that is too long for the terminal would take two, and the next table begin too low. */
static void put_line(const char *text)
{
	if (on_terminal)
		printf("%.*s\033[K\n", here.ws_col ? here.ws_col : NARROW, text);
	else
		puts(text);
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

/* Entries beside each other: as few as the terminal's lines allow, as many as it is wide. */
static int columns_for(int cores, int *rows)
{
	int wide = here.ws_col ? here.ws_col : NARROW, high = cores, columns;

	if (here.ws_row)
		high = here.ws_row > LINES_BESIDE ? here.ws_row - LINES_BESIDE : 1;
	columns = (cores + high - 1) / high;
	if (columns > wide / COLUMN)
		columns = wide / COLUMN;
	if (columns > MOST_COLUMNS)
		columns = MOST_COLUMNS;
	if (columns < 1)
		columns = 1;
	*rows = (cores + columns - 1) / columns;
	if (*rows > high)
		*rows = high;
	return columns;
}

static void put_table(const struct core_facts *facts)
{
	uint32_t online[facts->count], cores = 0;
	char text[MOST_COLUMNS * COLUMN], name[16];
	uint64_t active_ns = 0;
	int columns, rows, shown;

	for (uint32_t cpu = 0; cpu < facts->count; cpu++)
		if (facts->list[cpu].online)
			online[cores++] = cpu;
	columns = columns_for(cores, &rows);
	shown = (int)cores < columns * rows ? (int)cores : columns * rows;
	for (uint32_t n = 0; n < cores; n++)
		active_ns += facts->list[online[n]].active_ns;
	text[0] = 0;
	for (int column = 0; column < columns; column++)
		sprintf(text + strlen(text), "%-7s %6s  %6s%s", "CPU", "active", "id",
			column + 1 < columns ? "   " : "");
	put_line(text);
	for (int row = 0; row < rows; row++) {
		text[0] = 0;
		for (int n = row; n < shown; n += rows) {
			const struct core_fact *fact = &facts->list[online[n]];

			snprintf(name, sizeof(name), "%u", online[n]);
			put_entry(text, name, percent_active(fact->active_ns, facts->interval_ns),
				  n + rows >= shown);
		}
		put_line(text);
	}
	text[0] = 0;
	put_entry(text, "average", percent_active(active_ns, facts->interval_ns * cores), true);
	put_line(text);
	if (here.ws_row && here.ws_row <= LINES_BESIDE)
		return;
	if (shown < (int)cores)
		snprintf(text, sizeof(text),
			 "for want of room %d of %u CPUs are left out; average: of all",
			 (int)cores - shown, cores);
	else
		snprintf(text, sizeof(text),
			 "%% of the time; id: idle, as top names it, time that top shows as wa "
			 "included");
	put_line(text);
}

static void begin_table(void)
{
	if (on_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &here))
		memset(&here, 0, sizeof(here));
	if (!drawn)
		return;
	if (!on_terminal)
		putchar('\n');
	else if (here.ws_col != drawn_on.ws_col || here.ws_row != drawn_on.ws_row)
		fputs("\033[H\033[2J", stdout); /* nobody knows where the table before has gone */
	else
		printf("\033[%dA\r", drawn); /* over the table before */
}

void core_table_show(const struct core_facts *facts)
{
	if (!watched || !facts->interval_ns)
		return;
	begin_table();
	drawn = 0;
	drawn_on = here;
	put_table(facts);
	if (on_terminal)
		fputs("\033[J", stdout);
	if (fflush(stdout)) /* nobody reads on, or there is no room: as if it were told to end */
		raise(SIGTERM);
}
