/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The target: for testers that have no agent here. It accepts every client, describes a region in the private data of
 * its REP, and leaves the rest to the adapter. The port behind it belongs to a queue pair that posts no receives.
 */
#include "cm.h"
#include "serve.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int offer(uint16_t port, uint64_t handle, uint32_t receives)
{
	struct listener *listener = calloc(1, sizeof(*listener));

	if (listener == NULL)
		return ENOMEM;
	listener->handle = handle;
	listener->outfit = (struct outfit){ .receives = receives, .receive_bytes = 1024, .region_bytes = 65536 };
	int error = begin_listening(listener, port);
	if (error != 0) {
		free(listener);
		return error;
	}
	listener->next = cm.listeners;
	cm.listeners = listener;
	return 0;
}

int serve_target(uint16_t port)
{
	int error = cm_open() < 0 ? errno : offer(port, 1, 16);

	if (error == 0)
		error = offer((uint16_t)(port + 1), 2, 0);
	if (error != 0) {
		fprintf(stderr, "rocev2-agent: a target at port %u: %s\n", port, strerror(error));
		return 1;
	}
	fprintf(stderr, "rocev2-agent: target at ports %u and %u\n", port, port + 1);
	for (;;) {
		struct pollfd waiting = { .fd = cm.channel->fd, .events = POLLIN };

		if (poll(&waiting, 1, -1) < 0 && errno != EINTR)
			return 1;
		cm_drain();
	}
}
