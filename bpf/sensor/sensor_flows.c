// SPDX-License-Identifier: MIT
#include <string.h>

#include "loader.h"
#include "sensor.h"
#include "sensor_attach.h"
#include "sensor_flows.h"

static struct bpf_program *take;

void flows_open(struct bpf_object *object)
{
	if (attached_sums())
		take = loader_program(object, "take_sums");
}

void flows_close(void)
{
	take = NULL;
}

bool flows_emit(void)
{
	int said = take ? SUMS_MORE : SUMS_DONE;

	while (said == SUMS_MORE)
		said = loader_run(take, -1);
	if (said < 0)
		collector_exit(EXIT_FAILED, "sums of sockets: %s", strerror(-said));
	return said == SUMS_DONE;
}
