/* SPDX-License-Identifier: MIT */
/* The sums of bytes that the programs keep for each socket, brought into the buffer at the tick. */
#ifndef PROBETAX_SENSOR_FLOWS_H
#define PROBETAX_SENSOR_FLOWS_H

#include <bpf/libbpf.h>
#include <stdbool.h>

/* Nothing to do without sums. */
void flows_open(struct bpf_object *object);
void flows_close(void);
/* Has the sums that are not zero written into the buffer; false: it is full before all are. */
bool flows_emit(void);

#endif
