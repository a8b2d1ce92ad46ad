/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs: made, moved from state to state, queried. The mask of ibv_modify_qp is made of the arguments that are
 * there.
 */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };
#define STATES (sizeof(states) / sizeof(states[0]))

static enum ibv_qp_type read_type(struct call *call)
{
	const char *type = arg_string(call, "type");

	if (strcmp(type, "rc") == 0)
		return IBV_QPT_RC;
	if (strcmp(type, "uc") == 0)
		return IBV_QPT_UC;
	if (strcmp(type, "ud") == 0)
		return IBV_QPT_UD;
	call_refuse(call, EINVAL, "\"type\" is none of rc, uc, ud");
	return IBV_QPT_RC;
}

/* The calls that only an extended queue pair has; 0 where the device has none of them. */
static uint64_t extended_operations(const struct device *device, enum ibv_qp_type type)
{
	uint64_t operations = 0;

	if (type != IBV_QPT_RC)
		return 0;
#ifdef HAVE_FLUSH
	if (has_feature(device, "flush"))
		operations |= IBV_QP_EX_WITH_FLUSH;
#endif
#ifdef HAVE_ATOMIC_WRITE
	if (has_feature(device, "atomic-write"))
		operations |= IBV_QP_EX_WITH_ATOMIC_WRITE;
#endif
	(void)device;
	return operations;
}

static struct ibv_qp *make_qp(struct call *call, struct ibv_pd *pd, struct ibv_qp_init_attr *init, bool *extended)
{
	uint64_t operations = extended_operations(call->device, init->qp_type);

	*extended = operations != 0;
	if (operations == 0)
		return ibv_create_qp(pd, init);
	struct ibv_qp_init_attr_ex wide = {
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.cap = init->cap,
		.qp_type = init->qp_type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = operations,
	};
	return ibv_create_qp_ex(call->device->context, &wide);
}

void call_qp_create(struct call *call)
{
	struct object *pd = find_object(call, KIND_PD, "pd");
	struct object *send_cq = find_object(call, KIND_CQ, "sendCq");
	struct object *recv_cq = find_object(call, KIND_CQ, "recvCq");
	struct object *srq = arg_present(call, "srq") ? find_object(call, KIND_SRQ, "srq") : NULL;
	struct ibv_qp_init_attr init = { .qp_type = read_type(call) };

	init.cap.max_send_wr = (uint32_t)arg_number(call, "maxSendWr", UINT32_MAX);
	init.cap.max_recv_wr = (uint32_t)arg_number(call, "maxRecvWr", UINT32_MAX);
	init.cap.max_send_sge = (uint32_t)arg_number(call, "maxSge", UINT32_MAX);
	init.cap.max_recv_sge = init.cap.max_send_sge;
	init.cap.max_inline_data = (uint32_t)arg_number_or(call, "maxInline", UINT32_MAX, 0);
	if (arg_present(call, "msn"))
		call_unsupported(call, "verbs do not say which message is the first");
	struct object *object = new_object(call, KIND_QP, "qp");
	if (object == NULL)
		return;
	init.send_cq = send_cq->cq;
	init.recv_cq = recv_cq->cq;
	init.srq = srq == NULL ? NULL : srq->srq;
	object->qp = make_qp(call, pd->pd, &init, &object->extended);
	if (object->qp == NULL) {
		call_verbs(call, errno == 0 ? ENOMEM : errno, "ibv_create_qp");
		free(object);
		return;
	}
	add_object(call->device, KIND_QP, object);
	json_put_number(call->out, "qpn", object->qp->qp_num);
}

void read_path(struct call *call, const struct json *path, struct ibv_ah_attr *into)
{
	const struct json *destination = json_member(path, "destination");

	if (destination == NULL || destination->type != JSON_STRING ||
	    !address_to_gid(destination->string, &into->grh.dgid))
		call_refuse(call, EINVAL, "\"destination\" is no address");
	into->is_global = 1;
	into->port_num = call->device->port;
	into->sl = (uint8_t)member_number(call, path, "sl", UINT8_MAX, false, 0);
	into->grh.sgid_index = (uint8_t)member_number(call, path, "sgidIndex", UINT8_MAX, true, 0);
	into->grh.hop_limit = (uint8_t)member_number(call, path, "hopLimit", UINT8_MAX, false, 64);
	into->grh.traffic_class = (uint8_t)member_number(call, path, "trafficClass", UINT8_MAX, false, 0);
	into->grh.flow_label = (uint32_t)member_number(call, path, "flowLabel", 0xfffff, false, 0);
}

static enum ibv_qp_state read_state(struct call *call)
{
	const char *name = arg_string(call, "state");

	for (size_t i = 0; i < STATES; i++)
		if (strcmp(name, states[i]) == 0)
			return (enum ibv_qp_state)i;
	call_refuse(call, EINVAL, "\"state\" is none of RESET, INIT, RTR, RTS, SQD, SQE, ERR");
	return IBV_QPS_RESET;
}

static enum ibv_mtu read_mtu(struct call *call)
{
	uint64_t bytes = arg_number(call, "mtu", UINT16_MAX);

	for (int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++)
		if (mtu_bytes((enum ibv_mtu)mtu) == bytes)
			return (enum ibv_mtu)mtu;
	call_refuse(call, EINVAL, "\"mtu\" is none of 256, 512, 1024, 2048, 4096");
	return IBV_MTU_256;
}

/* Where an attribute that is a plain number lies, and its bit. */
struct plain {
	const char *name;
	int bit;
	uint32_t max;
	size_t offset;
	size_t size;
};
#define PLAIN(name, bit, max, member) \
	{ name, bit, max, offsetof(struct ibv_qp_attr, member), sizeof(((struct ibv_qp_attr *)0)->member) }
static const struct plain plains[] = {
	PLAIN("port", IBV_QP_PORT, UINT8_MAX, port_num),
	PLAIN("pkeyIndex", IBV_QP_PKEY_INDEX, UINT16_MAX, pkey_index),
	PLAIN("qkey", IBV_QP_QKEY, UINT32_MAX, qkey),
	PLAIN("destQpn", IBV_QP_DEST_QPN, UINT32_MAX, dest_qp_num),
	PLAIN("rqPsn", IBV_QP_RQ_PSN, UINT32_MAX, rq_psn),
	PLAIN("maxDestRdAtomic", IBV_QP_MAX_DEST_RD_ATOMIC, UINT8_MAX, max_dest_rd_atomic),
	PLAIN("minRnrTimer", IBV_QP_MIN_RNR_TIMER, UINT8_MAX, min_rnr_timer),
	PLAIN("sqPsn", IBV_QP_SQ_PSN, UINT32_MAX, sq_psn),
	PLAIN("timeout", IBV_QP_TIMEOUT, UINT8_MAX, timeout),
	PLAIN("retryCnt", IBV_QP_RETRY_CNT, UINT8_MAX, retry_cnt),
	PLAIN("rnrRetry", IBV_QP_RNR_RETRY, UINT8_MAX, rnr_retry),
	PLAIN("maxRdAtomic", IBV_QP_MAX_QP_RD_ATOMIC, UINT8_MAX, max_rd_atomic),
};
#define PLAINS (sizeof(plains) / sizeof(plains[0]))

static void set_plain(struct ibv_qp_attr *attributes, const struct plain *plain, uint32_t value)
{
	char *at = (char *)attributes + plain->offset;

	if (plain->size == sizeof(uint32_t))
		memcpy(at, &value, sizeof(value));
	else if (plain->size == sizeof(uint16_t))
		*(uint16_t *)(void *)at = (uint16_t)value;
	else
		*(uint8_t *)at = (uint8_t)value;
}

static uint32_t plain_value(const struct ibv_qp_attr *attributes, const struct plain *plain)
{
	const char *at = (const char *)attributes + plain->offset;
	uint32_t value = 0;

	if (plain->size == sizeof(uint32_t))
		memcpy(&value, at, sizeof(value));
	else
		value = plain->size == sizeof(uint16_t) ? *(const uint16_t *)(const void *)at : *(const uint8_t *)at;
	return value;
}

void call_qp_modify(struct call *call)
{
	struct object *object = find_object(call, KIND_QP, "qp");
	struct ibv_qp_attr attributes = { 0 };
	int mask = 0;

	if (arg_present(call, "state")) {
		attributes.qp_state = read_state(call);
		mask |= IBV_QP_STATE;
	}
	for (size_t i = 0; i < PLAINS; i++) {
		if (!arg_present(call, plains[i].name))
			continue;
		set_plain(&attributes, &plains[i], (uint32_t)arg_number(call, plains[i].name, plains[i].max));
		mask |= plains[i].bit;
	}
	if (arg_present(call, "access")) {
		attributes.qp_access_flags = (unsigned int)read_access(call, json_member(call->args, "access"));
		mask |= IBV_QP_ACCESS_FLAGS;
	}
	if (arg_present(call, "path")) {
		read_path(call, json_member(call->args, "path"), &attributes.ah_attr);
		mask |= IBV_QP_AV;
	}
	if (arg_present(call, "mtu")) {
		attributes.path_mtu = read_mtu(call);
		mask |= IBV_QP_PATH_MTU;
	}
	if (arg_present(call, "enSqdAsyncNotify")) {
		attributes.en_sqd_async_notify = arg_flag(call, "enSqdAsyncNotify", false);
		mask |= IBV_QP_EN_SQD_ASYNC_NOTIFY;
	}
	if (!call->failed)
		call_verbs(call, ibv_modify_qp(object->qp, &attributes, mask), "ibv_modify_qp");
}

static void put_path(struct text *out, const struct ibv_ah_attr *path)
{
	char address[INET6_ADDRSTRLEN];

	gid_to_text(&path->grh.dgid, address, sizeof(address));
	json_open(out, "path", '{');
	json_put_string(out, "destination", address);
	json_put_number(out, "sgidIndex", path->grh.sgid_index);
	json_put_number(out, "hopLimit", path->grh.hop_limit);
	json_put_number(out, "trafficClass", path->grh.traffic_class);
	json_put_number(out, "flowLabel", path->grh.flow_label);
	json_put_number(out, "sl", path->sl);
	json_close(out, '}');
}

void call_qp_query(struct call *call)
{
	struct object *object = find_object(call, KIND_QP, "qp");
	struct ibv_qp_attr attributes = { 0 };
	struct ibv_qp_init_attr init = { 0 };
	int mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_CUR_STATE;

	if (object == NULL)
		return;
	for (size_t i = 0; i < PLAINS; i++)
		mask |= plains[i].bit;
	call_verbs(call, ibv_query_qp(object->qp, &attributes, mask, &init), "ibv_query_qp");
	if (call->failed)
		return;
	json_put_string(call->out, "state", attributes.qp_state < STATES ? states[attributes.qp_state] : "ERR");
	for (size_t i = 0; i < PLAINS; i++)
		json_put_number(call->out, plains[i].name, plain_value(&attributes, &plains[i]));
	put_access(call->out, (int)attributes.qp_access_flags);
	if (attributes.ah_attr.is_global != 0)
		put_path(call->out, &attributes.ah_attr);
	if (mtu_bytes(attributes.path_mtu) != 0)
		json_put_number(call->out, "mtu", mtu_bytes(attributes.path_mtu));
}
