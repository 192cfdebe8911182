// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "loader.h"
#include "sensor_attach.h"
#include "sensor_flows.h"

static struct bpf_link *iteration;

void flows_open(struct bpf_object *object)
{
	struct bpf_program *take;
	struct bpf_map *map = attached_sums(object, &take);
	union bpf_iter_link_info about = {};
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &about,
		    .link_info_len = sizeof(about));

	if (!map)
		return;
	about.map.map_fd = bpf_map__fd(map);
	iteration = bpf_program__attach_iter(take, &options);
	if (!iteration)
		collector_exit(EXIT_UNAVAILABLE, "no iterator over %s: %s", bpf_map__name(map),
			       strerror(errno));
}

void flows_close(void)
{
	bpf_link__destroy(iteration);
	iteration = NULL;
}

/* The programs write into the buffer, not into what is read here: that is empty, and its end says that
 * every socket has been visited. */
void flows_emit(void)
{
	char nothing[64];
	int iterator;

	if (!iteration)
		return;
	iterator = bpf_iter_create(bpf_link__fd(iteration));
	if (iterator < 0)
		collector_exit(EXIT_FAILED, "iterator over sockets: %s", strerror(-iterator));
	while (read(iterator, nothing, sizeof(nothing)) > 0 || errno == EAGAIN)
		errno = 0;
	close(iterator);
}
