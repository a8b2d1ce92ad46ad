/* SPDX-License-Identifier: Apache-2.0 */
/* The client's calls of the connection manager: listen, connect, end, and events. */
#include "cm.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

static bool ready(struct call *call)
{
	if (cm_open() < 0)
		call_unsupported(call, "this host has no connection manager: %s", strerror(errno));
	return !call->failed;
}

static struct listener *find_listener(struct call *call)
{
	uint64_t handle = arg_number(call, "listener", 1ull << 53);

	for (struct listener *listener = cm.listeners; listener != NULL; listener = listener->next)
		if (listener->handle == handle)
			return listener;
	call_refuse(call, ENOENT, "there is no listener %llu", (unsigned long long)handle);
	return NULL;
}

/* Fills in what its request says; the sockets' part comes after. */
static void read_listener(struct call *call, struct listener *listener)
{
	listener->handle = arg_number(call, "listener", 1ull << 53);
	listener->outfit.receives = (uint32_t)arg_number_or(call, "receives", RECEIVES_MAX, 16);
	listener->outfit.receive_bytes = (uint32_t)arg_number_or(call, "receiveBytes", 1024 * 1024, 4096);
	listener->outfit.region_bytes = (uint32_t)arg_number_or(call, "regionBytes", 64 * 1024 * 1024, 65536);
	listener->reject = arg_present(call, "reject");
	listener->reject_length = arg_hex(call, "reject", listener->reject_data, sizeof(listener->reject_data));
	listener->mute = arg_flag(call, "mute", false);
	listener->udp = arg_flag(call, "udp", false);
	size_t count = 0;
	for (const struct listener *other = cm.listeners; other != NULL; other = other->next, count++)
		if (other->handle == listener->handle)
			call_refuse(call, EEXIST, "there is a listener of that name already");
	if (count >= LISTENERS_MAX)
		call_refuse(call, ENOSPC, "there are %d listeners already", LISTENERS_MAX);
	if (listener->handle == 0)
		call_refuse(call, EINVAL, "\"listener\" is 0, and names begin with 1");
}

int begin_listening(struct listener *listener, uint16_t port)
{
	struct sockaddr_in6 anywhere = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	if (rdma_create_id(cm.channel, &listener->id, listener, listener->udp ? RDMA_PS_UDP : RDMA_PS_TCP) != 0)
		return errno;
	if (rdma_bind_addr(listener->id, (struct sockaddr *)&anywhere) == 0 && rdma_listen(listener->id, 64) == 0)
		return 0;
	int error = errno;
	rdma_destroy_id(listener->id);
	return error;
}

void call_cm_listen(struct call *call)
{
	uint16_t port = (uint16_t)arg_number(call, "port", UINT16_MAX);
	struct listener *listener = calloc(1, sizeof(*listener));

	if (listener == NULL) {
		call_refuse(call, ENOMEM, "no memory for a listener");
		return;
	}
	read_listener(call, listener);
	if (!call->failed && ready(call))
		call_verbs(call, begin_listening(listener, port), "rdma_listen");
	if (call->failed) {
		free(listener);
		return;
	}
	listener->next = cm.listeners;
	cm.listeners = listener;
}

void call_cm_close(struct call *call)
{
	struct listener *listener = find_listener(call);

	if (listener != NULL)
		end_listener(listener);
}

static bool read_address(struct call *call, uint16_t port, struct sockaddr_storage *into)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)into;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)into;
	char text[INET6_ADDRSTRLEN + IF_NAMESIZE + 1] = "";

	strncat(text, arg_string(call, "address"), sizeof(text) - 1);
	memset(into, 0, sizeof(*into));
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		return true;
	memset(into, 0, sizeof(*into));
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	/* A link-local address names its link behind a percent sign. */
	char *scope = strchr(text, '%');
	if (scope != NULL) {
		*scope = 0;
		v6->sin6_scope_id = if_nametoindex(scope + 1);
	}
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
		return true;
	call_refuse(call, EINVAL, "\"address\" is no address");
	return false;
}

static void read_param(struct call *call, struct link *link)
{
	const struct ibv_device_attr *limits = &call->device->attributes;
	int most = limits->max_qp_rd_atom < 16 ? limits->max_qp_rd_atom : 16;
	struct rdma_conn_param *param = &link->param;

	param->private_data_len = (uint8_t)arg_hex(call, "privateData", link->private_data, PRIVATE_BYTES_MAX);
	param->private_data = link->private_data;
	param->responder_resources = (uint8_t)arg_number_or(call, "responderResources", UINT8_MAX, (uint64_t)most);
	param->initiator_depth = (uint8_t)arg_number_or(call, "initiatorDepth", UINT8_MAX, (uint64_t)most);
	param->retry_count = (uint8_t)arg_number_or(call, "retryCount", 7, 7);
	param->rnr_retry_count = (uint8_t)arg_number_or(call, "rnrRetryCount", 7, 7);
	param->flow_control = 1;
}

static struct link *find_connection(uint64_t handle)
{
	for (struct link *link = cm.links; link != NULL; link = link->next)
		if (link->listener == NULL && link->handle == handle)
			return link;
	return NULL;
}

void call_cm_connect(struct call *call)
{
	struct sockaddr_storage address;
	struct rdma_cm_id *id = NULL;
	uint64_t handle = arg_number(call, "connection", 1ull << 53);
	struct link request = { .outfit = { .receives = 16, .receive_bytes = 4096 } };

	read_address(call, (uint16_t)arg_number(call, "port", UINT16_MAX), &address);
	read_param(call, &request);
	if (handle == 0)
		call_refuse(call, EINVAL, "\"connection\" is 0, and names begin with 1");
	if (find_connection(handle) != NULL)
		call_refuse(call, EEXIST, "there is a connection %llu already", (unsigned long long)handle);
	if (cm.link_count >= LINKS_MAX)
		call_refuse(call, ENOSPC, "there are %d connections already", LINKS_MAX);
	if (call->failed || !ready(call))
		return;
	if (rdma_create_id(cm.channel, &id, NULL, RDMA_PS_TCP) != 0) {
		call_verbs(call, errno, "rdma_create_id");
		return;
	}
	struct link *link = new_link(NULL, id);
	if (link == NULL) {
		rdma_destroy_id(id);
		call_refuse(call, ENOMEM, "no memory for a connection");
		return;
	}
	link->handle = handle;
	link->outfit = request.outfit;
	link->param = request.param;
	memcpy(link->private_data, request.private_data, sizeof(link->private_data));
	link->param.private_data = link->private_data;
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, RESOLVE_MS) != 0) {
		call_verbs(call, errno, "rdma_resolve_addr");
		end_link(link);
	}
}

void call_cm_disconnect(struct call *call)
{
	struct link *link = NULL;

	cm_drain();
	if (arg_present(call, "connection")) {
		link = find_connection(arg_number(call, "connection", 1ull << 53));
	} else {
		struct listener *listener = find_listener(call);
		for (link = cm.links; link != NULL; link = link->next)
			if (link->listener == listener && link->established)
				break;
	}
	if (call->failed)
		return;
	if (link == NULL)
		call_refuse(call, ENOTCONN, "there is no such connection");
	else
		call_verbs(call, rdma_disconnect(link->id) == 0 ? 0 : errno, "rdma_disconnect");
}

/* rdma_event_str without its prefix, in lower case, with hyphens. */
static void put_event_name(struct text *out, enum rdma_cm_event_type type)
{
	static const char prefix[] = "RDMA_CM_EVENT_";
	const char *from = rdma_event_str(type);
	char name[64] = "";

	if (strncmp(from, prefix, sizeof(prefix) - 1) == 0)
		from += sizeof(prefix) - 1;
	strncat(name, from, sizeof(name) - 1);
	for (char *at = name; *at != 0; at++)
		*at = *at == '_' || *at == ' ' ? '-' : (char)tolower((unsigned char)*at);
	json_put_string(out, "event", name);
}

void call_cm_events(struct call *call)
{
	cm_drain();
	json_open(call->out, "events", '[');
	for (; cm.event_count > 0; cm.event_count--) {
		const struct cm_event *event = &cm.events[cm.event_start];

		cm.event_start = (cm.event_start + 1) % CM_EVENTS_MAX;
		json_open(call->out, NULL, '{');
		put_event_name(call->out, event->type);
		json_put_signed(call->out, "status", event->status);
		if (event->listener != 0)
			json_put_number(call->out, "listener", event->listener);
		if (event->connection != 0)
			json_put_number(call->out, "connection", event->connection);
		if (event->qpn != 0)
			json_put_number(call->out, "qpn", event->qpn);
		if (event->private_length != 0)
			json_put_hex(call->out, "privateData", event->private_data, event->private_length);
		json_close(call->out, '}');
	}
	json_close(call->out, ']');
}
