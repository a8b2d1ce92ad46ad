/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two halves of the connection manager share: cm.c answers what comes (events), cm-calls.c does what the client asks.
 * Its queue pairs are its own: they live on a context of librdmacm, and what they receive is not read.
 */
#ifndef ROCEV2_AGENT_CM_H
#define ROCEV2_AGENT_CM_H

#include "agent.h"

#define LINKS_MAX 256
#define LISTENERS_MAX 64
#define CM_MEMORY_BYTES_MAX (256ull * 1024 * 1024)
#define CM_EVENTS_MAX 1024
#define RECEIVES_MAX 4096
#define RESOLVE_MS 3000
#define PRIVATE_BYTES_MAX 255

/* What a queue pair of a connection gets. */
struct outfit {
	uint32_t receives;
	uint32_t receive_bytes;
	uint32_t region_bytes;
};

struct listener {
	struct listener *next;
	uint64_t handle;
	struct rdma_cm_id *id;
	struct outfit outfit;
	bool udp;
	bool mute;
	bool reject;
	uint8_t reject_data[PRIVATE_BYTES_MAX];
	size_t reject_length;
};

/* One connection, of a listener or made by us. The context of its rdma_cm_id. */
struct link {
	struct link *next;
	/* NULL of those that cm.connect made. */
	struct listener *listener;
	/* Of those that cm.connect made. */
	uint64_t handle;
	struct rdma_cm_id *id;
	struct outfit outfit;
	bool established;
	/* The parameters of rdma_connect, once the route is resolved. */
	struct rdma_conn_param param;
	uint8_t private_data[PRIVATE_BYTES_MAX];
	/* Of the device, as librdmacm has it: all connections share it, so a key works on each of them. */
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *region;
	struct ibv_mr *buffers;
	uint8_t *memory;
	size_t mapped;
};

struct cm_event {
	enum rdma_cm_event_type type;
	int status;
	uint64_t listener;
	uint64_t connection;
	uint32_t qpn;
	uint8_t private_length;
	uint8_t private_data[PRIVATE_BYTES_MAX];
};

struct cm {
	struct rdma_event_channel *channel;
	/* Newest first. */
	struct listener *listeners;
	struct link *links;
	size_t link_count;
	uint64_t memory_used;
	/* A ring; when it is full the oldest goes. */
	struct cm_event events[CM_EVENTS_MAX];
	size_t event_start;
	size_t event_count;
};

extern struct cm cm;

struct link *new_link(struct listener *listener, struct rdma_cm_id *id);
void end_link(struct link *link);
void end_listener(struct listener *listener);
/* On every address of the host, IPv4 ones too. 0, or an errno. */
int begin_listening(struct listener *listener, uint16_t port);
/* Remembers something that happened to a connection, for cm.events. */
struct cm_event *note_event(enum rdma_cm_event_type type, int status, const struct link *link);

#endif
