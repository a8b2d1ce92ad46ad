/* SPDX-License-Identifier: Apache-2.0 */
/* The transports between clients and the agent. */
#ifndef ROCEV2_AGENT_SERVE_H
#define ROCEV2_AGENT_SERVE_H

#include "agent.h"

struct service {
	struct device *device;
	/* Features that the user says the device has. */
	const char *features;
	/* Whether the first client is the last. */
	bool once;
};

/* Each serves one client after the other; the result is the program's exit code. */
int serve_tcp(const struct service *service, const char *where);
int serve_console(const struct service *service, const char *path);
int serve_stdio(const struct service *service);
/* Serves no clients, but peers that connect to this port and the one behind it. */
int serve_target(uint16_t port);

/*
 * One client from the first line to the last; everything it made is gone afterwards. `door` listens for further
 * clients, or is -1.
 */
int serve_client(const struct service *service, int in, int out, int door);
/* Refuses a client that connects while another one is being served. */
void turn_away(int door);

#endif
