/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous events of the device: read when asked for, acknowledged at once, named as verbs name them. */
#include "agent.h"

struct event_name {
	enum ibv_event_type type;
	const char *name;
};

static const struct event_name names[] = {
	{ IBV_EVENT_CQ_ERR, "cq-err" },
	{ IBV_EVENT_QP_FATAL, "qp-fatal" },
	{ IBV_EVENT_QP_REQ_ERR, "qp-req-err" },
	{ IBV_EVENT_QP_ACCESS_ERR, "qp-access-err" },
	{ IBV_EVENT_COMM_EST, "comm-est" },
	{ IBV_EVENT_SQ_DRAINED, "sq-drained" },
	{ IBV_EVENT_PATH_MIG, "path-mig" },
	{ IBV_EVENT_PATH_MIG_ERR, "path-mig-err" },
	{ IBV_EVENT_DEVICE_FATAL, "device-fatal" },
	{ IBV_EVENT_PORT_ACTIVE, "port-active" },
	{ IBV_EVENT_PORT_ERR, "port-err" },
	{ IBV_EVENT_LID_CHANGE, "lid-change" },
	{ IBV_EVENT_PKEY_CHANGE, "pkey-change" },
	{ IBV_EVENT_SM_CHANGE, "sm-change" },
	{ IBV_EVENT_SRQ_ERR, "srq-err" },
	{ IBV_EVENT_SRQ_LIMIT_REACHED, "srq-limit-reached" },
	{ IBV_EVENT_QP_LAST_WQE_REACHED, "qp-last-wqe-reached" },
	{ IBV_EVENT_CLIENT_REREGISTER, "client-reregister" },
	{ IBV_EVENT_GID_CHANGE, "gid-change" },
	{ IBV_EVENT_WQ_FATAL, "wq-fatal" },
};

static const char *event_name(enum ibv_event_type type)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].type == type)
			return names[i].name;
	return "unknown";
}

/* Whose event it is, where it is of something that the client made. */
static void put_owner(struct device *device, struct text *out, const struct ibv_async_event *event)
{
	const struct object *object = NULL;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		object = object_of(device, KIND_CQ, event->element.cq);
		if (object != NULL)
			json_put_number(out, "cq", object->handle);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		object = object_of(device, KIND_SRQ, event->element.srq);
		if (object != NULL)
			json_put_number(out, "srq", object->handle);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		object = object_of(device, KIND_QP, event->element.qp);
		if (object != NULL)
			json_put_number(out, "qp", object->handle);
		break;
	default:
		break;
	}
}

void drain_async_events(struct device *device, struct text *out)
{
	struct ibv_async_event event;

	for (int left = EVENTS_MAX; left > 0 && ibv_get_async_event(device->context, &event) == 0; left--) {
		if (out != NULL) {
			json_open(out, NULL, '{');
			json_put_string(out, "event", event_name(event.event_type));
			put_owner(device, out, &event);
			json_close(out, '}');
		}
		/* An object waits at its end until its events are acknowledged. */
		ibv_ack_async_event(&event);
	}
}

void call_events(struct call *call)
{
	json_open(call->out, "events", '[');
	drain_async_events(call->device, call->out);
	json_close(call->out, ']');
}
