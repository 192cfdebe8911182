/* SPDX-License-Identifier: MIT */
/* The source's table, for a person at a terminal. A collector under the protocol prints nothing. */
#ifndef PROBETAX_CORE_TABLE_H
#define PROBETAX_CORE_TABLE_H

#include "collector.h"
#include "core_facts.h"

/* collector_main() where the protocol's descriptor was handed over or --dump is asked for; else the
 * same loop, once a second unless the arguments say otherwise, with a table after each scrape. */
int core_table_main(int argc, char **argv, const struct collector *collector);
/* Prints the table if there is somebody to read it, but not for the first scrape, which has none
 * before it. Called after each scrape. */
void core_table_show(const struct core_facts *facts);
/* Whether a table or a record will be made of the facts. */
bool core_table_wants_online(void);

#endif
