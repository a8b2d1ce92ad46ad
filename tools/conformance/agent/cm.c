/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: their parts and their end, and the handling of events of the connection manager. */
#include "cm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRH_BYTES 40
#define DRAIN_MAX 256

struct cm cm;

int cm_open(void)
{
	if (cm.channel == NULL) {
		cm.channel = rdma_create_event_channel();
		if (cm.channel == NULL)
			return -1;
		fcntl(cm.channel->fd, F_SETFL, fcntl(cm.channel->fd, F_GETFL) | O_NONBLOCK);
	}
	return cm.channel->fd;
}

struct cm_event *note_event(enum rdma_cm_event_type type, int status, const struct link *link)
{
	struct cm_event *event = &cm.events[(cm.event_start + cm.event_count) % CM_EVENTS_MAX];

	if (cm.event_count == CM_EVENTS_MAX)
		cm.event_start = (cm.event_start + 1) % CM_EVENTS_MAX;
	else
		cm.event_count++;
	memset(event, 0, sizeof(*event));
	event->type = type;
	event->status = status;
	if (link == NULL)
		return event;
	event->listener = link->listener == NULL ? 0 : link->listener->handle;
	event->connection = link->handle;
	event->qpn = link->id->qp == NULL ? 0 : link->id->qp->qp_num;
	return event;
}

struct link *new_link(struct listener *listener, struct rdma_cm_id *id)
{
	struct link *link = calloc(1, sizeof(*link));

	if (link == NULL)
		return NULL;
	link->listener = listener;
	link->id = id;
	id->context = link;
	link->next = cm.links;
	cm.links = link;
	cm.link_count++;
	return link;
}

void end_link(struct link *link)
{
	struct link **at = &cm.links;

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	cm.link_count--;
	if (link->id->qp != NULL)
		rdma_destroy_qp(link->id);
	if (link->buffers != NULL)
		ibv_dereg_mr(link->buffers);
	if (link->region != NULL)
		ibv_dereg_mr(link->region);
	if (link->cq != NULL)
		ibv_destroy_cq(link->cq);
	if (link->memory != NULL) {
		munmap(link->memory, link->mapped);
		cm.memory_used -= link->mapped;
	}
	rdma_destroy_id(link->id);
	free(link);
}

void end_listener(struct listener *listener)
{
	struct listener **at = &cm.listeners;

	while (*at != listener)
		at = &(*at)->next;
	*at = listener->next;
	for (struct link *link = cm.links, *next; link != NULL; link = next) {
		next = link->next;
		if (link->listener == listener)
			end_link(link);
	}
	rdma_destroy_id(listener->id);
	free(listener);
}

void cm_reset(void)
{
	while (cm.links != NULL)
		end_link(cm.links);
	while (cm.listeners != NULL)
		end_listener(cm.listeners);
	cm.event_count = 0;
}

static size_t whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

/* The region that peers may use, and behind it the receive buffers, which they may not. */
static int give_memory(struct link *link, size_t receive_bytes)
{
	const struct outfit *outfit = &link->outfit;
	size_t region = whole_pages(outfit->region_bytes);
	size_t buffers = whole_pages((size_t)outfit->receives * receive_bytes);
	int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	if (region + buffers == 0)
		return 0;
	if (cm.memory_used + region + buffers > CM_MEMORY_BYTES_MAX)
		return ENOMEM;
	void *memory = mmap(NULL, region + buffers, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return errno;
	link->memory = memory;
	link->mapped = region + buffers;
	cm.memory_used += link->mapped;
	if (outfit->region_bytes > 0) {
		link->region = ibv_reg_mr(link->pd, memory, outfit->region_bytes, rights);
		if (link->region == NULL)
			return errno;
	}
	if (outfit->receives == 0)
		return 0;
	link->buffers = ibv_reg_mr(link->pd, link->memory + region, buffers, IBV_ACCESS_LOCAL_WRITE);
	return link->buffers == NULL ? errno : 0;
}

static int post_receives(struct link *link, size_t bytes)
{
	uintptr_t start = link->buffers == NULL ? 0 : (uintptr_t)link->buffers->addr;

	for (uint32_t i = 0; i < link->outfit.receives; i++) {
		struct ibv_sge piece = { .addr = start + i * bytes, .length = (uint32_t)bytes };
		struct ibv_recv_wr request = { .wr_id = i, .sg_list = &piece, .num_sge = 1 };
		struct ibv_recv_wr *bad = NULL;

		piece.lkey = link->buffers->lkey;
		int error = ibv_post_recv(link->id->qp, &request, &bad);
		if (error != 0)
			return abs(error);
	}
	return 0;
}

/* A queue pair with its receives and region, on the device that the connection runs over. 0, or an errno. */
static int equip(struct link *link, enum ibv_qp_type type)
{
	uint32_t receives = link->outfit.receives;
	size_t bytes = link->outfit.receive_bytes + (type == IBV_QPT_UD ? GRH_BYTES : 0);
	struct ibv_qp_init_attr init = { .qp_type = type };

	errno = ENODEV;
	link->pd = link->id->verbs == NULL ? NULL : link->id->pd;
	/* It is never polled, so it has room for everything that can ever complete. */
	link->cq = link->pd == NULL ? NULL : ibv_create_cq(link->id->verbs, (int)receives + 1, NULL, NULL, 0);
	if (link->cq == NULL)
		return errno;
	init.send_cq = link->cq;
	init.recv_cq = link->cq;
	init.cap = (struct ibv_qp_cap){ .max_send_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 };
	init.cap.max_recv_wr = receives == 0 ? 1 : receives;
	int error = give_memory(link, bytes);
	if (error != 0)
		return error;
	if (rdma_create_qp(link->id, link->pd, &init) != 0)
		return errno;
	return post_receives(link, bytes);
}

/* Begins the private data of what we accept: where the region is, its key, its length; big-endian. */
static void describe_region(const struct link *link, uint8_t into[16])
{
	uint64_t address = link->region == NULL ? 0 : (uintptr_t)link->region->addr;
	uint64_t va = htobe64(address);
	uint32_t rkey = link->region == NULL ? 0 : htobe32(link->region->rkey);
	uint32_t length = htobe32(link->outfit.region_bytes);

	memcpy(into, &va, 8);
	memcpy(into + 8, &rkey, 4);
	memcpy(into + 12, &length, 4);
}

static uint8_t at_most(uint8_t wanted, int limit)
{
	return wanted < limit ? wanted : (uint8_t)limit;
}

/* 0, or an errno. */
static int accept_link(struct link *link, const struct rdma_conn_param *asked)
{
	struct ibv_device_attr limits;
	uint8_t data[16];
	bool udp = link->listener->udp;
	struct rdma_conn_param param = { .private_data = data, .private_data_len = sizeof(data) };
	int error = equip(link, udp ? IBV_QPT_UD : IBV_QPT_RC);

	if (error != 0)
		return error;
	describe_region(link, data);
	if (udp) {
		param.qp_num = link->id->qp->qp_num;
	} else if (ibv_query_device(link->id->verbs, &limits) == 0) {
		param.responder_resources = at_most(asked->responder_resources, limits.max_qp_rd_atom);
		param.initiator_depth = at_most(asked->initiator_depth, limits.max_qp_init_rd_atom);
		param.rnr_retry_count = 7;
		param.flow_control = 1;
	}
	return rdma_accept(link->id, &param) == 0 ? 0 : errno;
}

/* Room for one more: the oldest connection that is no longer one has to go. */
static bool make_room(void)
{
	struct link *oldest = NULL;

	if (cm.link_count < LINKS_MAX)
		return true;
	for (struct link *link = cm.links; link != NULL; link = link->next)
		if (!link->established && link->listener != NULL)
			oldest = link;
	if (oldest != NULL)
		end_link(oldest);
	return oldest != NULL;
}

static void refuse_id(struct rdma_cm_id *id, const void *data, size_t length)
{
	rdma_reject(id, data, (uint8_t)length);
	rdma_destroy_id(id);
}

/* A connection request for a listener. */
static struct link *take_request(struct listener *listener, struct rdma_cm_id *id, const struct rdma_conn_param *asked,
				 int *status)
{
	if (listener->reject) {
		refuse_id(id, listener->reject_data, listener->reject_length);
		return NULL;
	}
	struct link *link = make_room() ? new_link(listener, id) : NULL;
	if (link == NULL) {
		*status = -ENOMEM;
		refuse_id(id, NULL, 0);
		return NULL;
	}
	link->outfit = listener->outfit;
	if (listener->mute)
		return link;
	*status = -accept_link(link, asked);
	return link;
}

/* The next step of a connection that we make; 0, or an errno where it cannot be done. */
static int go_on(struct link *link, enum rdma_cm_event_type type)
{
	int error = 0;

	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		error = equip(link, IBV_QPT_RC);
		if (error == 0 && rdma_resolve_route(link->id, RESOLVE_MS) != 0)
			error = errno;
		return error;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return rdma_connect(link->id, &link->param) == 0 ? 0 : errno;
	case RDMA_CM_EVENT_ESTABLISHED:
		link->established = true;
		return 0;
	case RDMA_CM_EVENT_DISCONNECTED:
		link->established = false;
		rdma_disconnect(link->id);
		return 0;
	default:
		return 0;
	}
}

static bool is_last(enum rdma_cm_event_type type)
{
	switch (type) {
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return true;
	default:
		return false;
	}
}

static void handle(struct rdma_cm_id *id, struct rdma_cm_id *listen_id, struct cm_event *told,
		   const struct rdma_conn_param *asked)
{
	struct link *link = NULL;
	struct cm_event *noted;
	int status = 0;

	if (told->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		struct listener *listener = listen_id->context;
		link = take_request(listener, id, asked, &status);
		noted = note_event(told->type, told->status, link);
		noted->listener = listener->handle;
	} else if (cm.listeners == NULL && cm.links == NULL) {
		return;
	} else {
		/* A listener's own id has no events but that its device went. */
		for (link = cm.links; link != NULL && link->id != id; link = link->next)
			;
		noted = note_event(told->type, told->status, link);
		if (link != NULL)
			status = -go_on(link, told->type);
	}
	noted->private_length = told->private_length;
	memcpy(noted->private_data, told->private_data, sizeof(noted->private_data));
	if (status != 0)
		note_event(RDMA_CM_EVENT_CONNECT_ERROR, status, link)->listener = noted->listener;
	if (link != NULL && (status != 0 || is_last(told->type)))
		end_link(link);
}

void cm_drain(void)
{
	struct rdma_cm_event *event;

	if (cm.channel == NULL)
		return;
	for (int left = DRAIN_MAX; left > 0 && rdma_get_cm_event(cm.channel, &event) == 0; left--) {
		/* An id waits at its end until its events are acknowledged, so what is needed of this one is copied first. */
		struct cm_event told = { .type = event->event, .status = event->status };
		struct rdma_conn_param asked = event->param.conn;
		struct rdma_cm_id *id = event->id;
		struct rdma_cm_id *listen_id = event->listen_id;
		bool udp = id->ps == RDMA_PS_UDP;
		const void *data = udp ? event->param.ud.private_data : asked.private_data;
		uint8_t length = udp ? event->param.ud.private_data_len : asked.private_data_len;

		if (data != NULL) {
			told.private_length = length;
			memcpy(told.private_data, data, length);
		}
		rdma_ack_cm_event(event);
		handle(id, listen_id, &told, &asked);
	}
}
