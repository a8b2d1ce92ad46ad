/* SPDX-License-Identifier: Apache-2.0 */
/* The device and the objects that the client made on it, by kind and name. Owns their memory and their end. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct object *find(const struct device *device, enum kind kind, uint64_t handle)
{
	for (struct object *object = device->objects[kind]; object != NULL; object = object->next)
		if (object->handle == handle)
			return object;
	return NULL;
}

struct object *object_of(const struct device *device, enum kind kind, const void *any)
{
	for (struct object *object = device->objects[kind]; object != NULL; object = object->next)
		if (object->any == any)
			return object;
	return NULL;
}

struct object *find_member(struct call *call, const struct json *of, enum kind kind, const char *name)
{
	uint64_t handle = member_number(call, of, name, 1ull << 53, true, 0);

	if (call->failed)
		return NULL;
	struct object *object = find(call->device, kind, handle);
	if (object == NULL)
		call_refuse(call, ENOENT, "there is no %s %llu", name, (unsigned long long)handle);
	return object;
}

struct object *find_object(struct call *call, enum kind kind, const char *name)
{
	return find_member(call, call->args, kind, name);
}

struct object *new_object(struct call *call, enum kind kind, const char *name)
{
	struct device *device = call->device;
	uint64_t handle = arg_number(call, name, 1ull << 53);

	if (call->failed)
		return NULL;
	if (handle == 0)
		call_refuse(call, EINVAL, "\"%s\" is 0, and names begin with 1", name);
	else if (find(device, kind, handle) != NULL)
		call_refuse(call, EEXIST, "there is a %s %llu already", name, (unsigned long long)handle);
	else if (device->object_count == OBJECTS_MAX)
		call_refuse(call, ENOSPC, "there are %d objects already", OBJECTS_MAX);
	if (call->failed)
		return NULL;
	struct object *object = calloc(1, sizeof(*object));
	if (object == NULL)
		call_refuse(call, ENOMEM, "no memory for a %s", name);
	else
		object->handle = handle;
	return object;
}

void add_object(struct device *device, enum kind kind, struct object *object)
{
	object->next = device->objects[kind];
	device->objects[kind] = object;
	device->object_count++;
}

static int destroy_verbs(enum kind kind, struct object *object)
{
	switch (kind) {
	case KIND_PD:
		return ibv_dealloc_pd(object->pd);
	case KIND_CQ:
		return ibv_destroy_cq(object->cq);
	case KIND_MR:
		return ibv_dereg_mr(object->mr);
	case KIND_MW:
		return ibv_dealloc_mw(object->mw);
	case KIND_SRQ:
		return ibv_destroy_srq(object->srq);
	case KIND_QP:
		return ibv_destroy_qp(object->qp);
	case KIND_AH:
		return ibv_destroy_ah(object->ah);
	default:
		return EINVAL;
	}
}

/* Takes an object out of the table and frees what it holds besides verbs. */
static void forget_object(struct device *device, enum kind kind, struct object *object)
{
	struct object **link = &device->objects[kind];

	while (*link != object)
		link = &(*link)->next;
	*link = object->next;
	device->object_count--;
	if (object->channel != NULL)
		ibv_destroy_comp_channel(object->channel);
	if (object->memory != NULL) {
		munmap(object->memory, object->mapped);
		device->memory_used -= object->mapped;
	}
	free(object);
}

int destroy_object(struct device *device, enum kind kind, struct object *object)
{
	int error = abs(destroy_verbs(kind, object));

	if (error == 0)
		forget_object(device, kind, object);
	return error;
}

static void leave_groups(struct object *object)
{
	for (int i = 0; i < object->group_count; i++)
		ibv_detach_mcast(object->qp, &object->groups[i].gid, object->groups[i].mlid);
	object->group_count = 0;
}

int destroy_all(struct device *device)
{
	/* Each kind before what it is made of; windows first, for they may refer to queue pairs and regions. */
	static const enum kind order[] = { KIND_MW, KIND_QP, KIND_AH, KIND_SRQ, KIND_MR, KIND_CQ, KIND_PD };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		for (struct object *object = device->objects[order[i]], *next; object != NULL; object = next) {
			next = object->next;
			if (order[i] == KIND_QP)
				leave_groups(object);
			destroy_object(device, order[i], object);
		}
	}
	drain_async_events(device, NULL);
	if (device->object_count == 0)
		return 0;
	/* The end of a device's file is the end of all that was made through it. */
	ibv_close_device(device->context);
	for (int kind = 0; kind < KINDS; kind++) {
		while (device->objects[kind] != NULL) {
			device->objects[kind]->channel = NULL;
			forget_object(device, kind, device->objects[kind]);
		}
	}
	return open_device(device, device->name, device->port);
}

/* The device of that name; without one, the first. */
static struct ibv_context *open_context(const char *name)
{
	struct ibv_context *context = NULL;
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);

	if (list == NULL)
		return NULL;
	errno = ENODEV;
	for (int i = 0; i < count && context == NULL; i++)
		if (name == NULL || strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	int error = errno;
	ibv_free_device_list(list);
	errno = error;
	return context;
}

int open_device(struct device *device, const char *name, uint8_t port)
{
	struct ibv_device_attr_ex extended = { 0 };

	device->context = open_context(name);
	if (device->context == NULL)
		return errno == 0 ? ENODEV : errno;
	device->name = ibv_get_device_name(device->context->device);
	device->port = port;
	int error = ibv_query_device_ex(device->context, NULL, &extended);
	if (error != 0)
		return abs(error);
	device->attributes = extended.orig_attr;
	device->capabilities = extended.device_cap_flags_ex | extended.orig_attr.device_cap_flags;
	int flags = fcntl(device->context->async_fd, F_GETFL);
	return fcntl(device->context->async_fd, F_SETFL, flags | O_NONBLOCK) < 0 ? errno : 0;
}
