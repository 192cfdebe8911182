/* SPDX-License-Identifier: MIT */
/* The sums of bytes that the programs keep for each socket, brought into the buffer at the tick. */
#ifndef PROBETAX_SENSOR_FLOWS_H
#define PROBETAX_SENSOR_FLOWS_H

#include <bpf/libbpf.h>

/* Nothing to do without sums. */
void flows_open(struct bpf_object *object);
void flows_close(void);
/* Has every sum written into the buffer that is not zero; one that finds no room waits. */
void flows_emit(void);

#endif
