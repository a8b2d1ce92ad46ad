/* SPDX-License-Identifier: Apache-2.0 */
/* Everything of verbs but queue pairs and their work: domains, completion queues, memory, shared receive queues, address handles. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Takes a fresh object into the table, or frees it where verbs did not make what it stands for. */
static bool keep(struct call *call, enum kind kind, struct object *object, const char *what)
{
	if (object->any != NULL) {
		add_object(call->device, kind, object);
		return true;
	}
	call_verbs(call, errno == 0 ? ENOMEM : errno, what);
	free(object);
	return false;
}

static void destroy(struct call *call, enum kind kind, const char *name, const char *what)
{
	struct object *object = find_object(call, kind, name);

	if (object != NULL)
		call_verbs(call, destroy_object(call->device, kind, object), what);
}

void call_destroy_pd(struct call *call)
{
	destroy(call, KIND_PD, "pd", "ibv_dealloc_pd");
}

void call_destroy_cq(struct call *call)
{
	destroy(call, KIND_CQ, "cq", "ibv_destroy_cq");
}

void call_destroy_mr(struct call *call)
{
	destroy(call, KIND_MR, "mr", "ibv_dereg_mr");
}

void call_destroy_mw(struct call *call)
{
	destroy(call, KIND_MW, "mw", "ibv_dealloc_mw");
}

void call_destroy_srq(struct call *call)
{
	destroy(call, KIND_SRQ, "srq", "ibv_destroy_srq");
}

void call_destroy_qp(struct call *call)
{
	destroy(call, KIND_QP, "qp", "ibv_destroy_qp");
}

void call_destroy_ah(struct call *call)
{
	destroy(call, KIND_AH, "ah", "ibv_destroy_ah");
}

void call_pd_alloc(struct call *call)
{
	struct object *object = new_object(call, KIND_PD, "pd");

	if (object == NULL)
		return;
	object->pd = ibv_alloc_pd(call->device->context);
	keep(call, KIND_PD, object, "ibv_alloc_pd");
}

void call_cq_create(struct call *call)
{
	int entries = (int)arg_number(call, "entries", INT32_MAX);
	struct object *object = new_object(call, KIND_CQ, "cq");

	if (object == NULL)
		return;
	/* Its own channel has the waiting events; reading one must not wait. */
	struct ibv_comp_channel *channel = ibv_create_comp_channel(call->device->context);
	if (channel != NULL) {
		fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
		object->cq = ibv_create_cq(call->device->context, entries, NULL, channel, 0);
	}
	if (keep(call, KIND_CQ, object, "ibv_create_cq"))
		object->channel = channel;
	else if (channel != NULL)
		ibv_destroy_comp_channel(channel);
}

void call_cq_arm(struct call *call)
{
	bool solicited = arg_flag(call, "solicitedOnly", false);
	struct object *object = find_object(call, KIND_CQ, "cq");

	if (!call->failed)
		call_verbs(call, ibv_req_notify_cq(object->cq, solicited), "ibv_req_notify_cq");
}

void call_cq_events(struct call *call)
{
	struct object *object = find_object(call, KIND_CQ, "cq");
	unsigned int count = 0;

	if (object == NULL)
		return;
	struct ibv_cq *cq;
	void *context;
	while (count < EVENTS_MAX && ibv_get_cq_event(object->channel, &cq, &context) == 0)
		count++;
	if (count > 0)
		ibv_ack_cq_events(object->cq, count);
	json_put_number(call->out, "count", count);
}

static void put_completion(struct text *out, const struct ibv_wc *wc)
{
	bool good = wc->status == IBV_WC_SUCCESS;
	bool received = good && (wc->opcode & IBV_WC_RECV) != 0;

	json_open(out, NULL, '{');
	json_put_number(out, "wrId", wc->wr_id);
	json_put_number(out, "status", wc->status);
	json_put_number(out, "opcode", good ? wc->opcode : 0);
	json_put_number(out, "byteLen", good ? wc->byte_len : 0);
	json_put_number(out, "qpn", wc->qp_num);
	json_put_number(out, "srcQp", good ? wc->src_qp : 0);
	/* Drivers flag completions of senders too, whose value is anything. */
	if (received && (wc->wc_flags & IBV_WC_WITH_IMM) != 0)
		json_put_number(out, "imm", be32toh(wc->imm_data));
	if (received && (wc->wc_flags & IBV_WC_WITH_INV) != 0)
		json_put_number(out, "invalidatedRkey", wc->invalidated_rkey);
	json_put_boolean(out, "grh", good && (wc->wc_flags & IBV_WC_GRH) != 0);
	json_close(out, '}');
}

void call_cq_poll(struct call *call)
{
	uint64_t left = arg_number(call, "max", UINT32_MAX);
	struct object *object = find_object(call, KIND_CQ, "cq");
	struct ibv_wc wc[16];
	int got = 0;

	if (object == NULL)
		return;
	if (left > COMPLETIONS_MAX)
		left = COMPLETIONS_MAX;
	json_open(call->out, "completions", '[');
	do {
		got = ibv_poll_cq(object->cq, left < 16 ? (int)left : 16, wc);
		for (int i = 0; i < got; i++)
			put_completion(call->out, &wc[i]);
		left -= got > 0 ? (uint64_t)got : 0;
	} while (got > 0 && left > 0);
	json_close(call->out, ']');
	if (got < 0)
		call_refuse(call, EIO, "ibv_poll_cq: it says %d", got);
}

/* No more than half of the host's memory: a host that runs out of memory kills any process. */
static uint64_t memory_limit(size_t page)
{
	uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) * page / 2;

	return half < MEMORY_BYTES_MAX ? half : MEMORY_BYTES_MAX;
}

/* Whole pages, so that nothing of the agent's own lies beside what a peer may write. */
static void *map_memory(struct call *call, size_t length, size_t *mapped)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*mapped = (length / page + (length % page != 0 || length == 0)) * page;
	if (call->device->memory_used + *mapped > memory_limit(page)) {
		call_refuse(call, ENOMEM, "more memory than this agent gives");
		return NULL;
	}
	void *memory = mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED)
		return memory;
	call_refuse(call, errno, "mmap: %s", strerror(errno));
	return NULL;
}

void call_mr_reg(struct call *call)
{
	struct object *pd = find_object(call, KIND_PD, "pd");
	size_t length = arg_number(call, "length", REGION_BYTES_MAX);
	int access = read_access(call, json_member(call->args, "access"));
	struct object *object = new_object(call, KIND_MR, "mr");

	if (object == NULL)
		return;
	object->length = length;
	object->memory = map_memory(call, length, &object->mapped);
	if (object->memory == NULL) {
		free(object);
		return;
	}
	uint8_t *memory = object->memory;
	size_t mapped = object->mapped;
	object->mr = ibv_reg_mr(pd->pd, memory, length, access);
	if (!keep(call, KIND_MR, object, "ibv_reg_mr")) {
		munmap(memory, mapped);
		return;
	}
	call->device->memory_used += mapped;
	json_put_wide(call->out, "va", (uintptr_t)memory);
	json_put_number(call->out, "lkey", object->mr->lkey);
	json_put_number(call->out, "rkey", object->mr->rkey);
}

/* Where in a region `length` bytes from the argument "offset" on lie. */
static uint8_t *find_bytes(struct call *call, size_t length)
{
	struct object *object = find_object(call, KIND_MR, "mr");
	uint64_t offset = arg_number(call, "offset", UINT32_MAX);

	if (call->failed)
		return NULL;
	if (offset > object->length || length > object->length - offset) {
		call_refuse(call, ERANGE, "%zu bytes at %llu are not within the region's %zu", length,
			    (unsigned long long)offset, object->length);
		return NULL;
	}
	return object->memory + offset;
}

void call_mem_read(struct call *call)
{
	size_t length = arg_number(call, "length", READ_BYTES_MAX);
	uint8_t *bytes = find_bytes(call, length);

	if (bytes != NULL)
		json_put_hex(call->out, "hex", bytes, length);
}

void call_mem_write(struct call *call)
{
	const char *digits = arg_string(call, "hex");
	size_t length = strlen(digits) / 2;
	uint8_t *bytes = find_bytes(call, length);

	if (bytes != NULL && !hex_decode(digits, bytes, length, &length))
		call_refuse(call, EINVAL, "\"hex\" is no hexadecimal digits");
}

void call_mw_alloc(struct call *call)
{
	struct object *pd = find_object(call, KIND_PD, "pd");
	struct object *object = new_object(call, KIND_MW, "mw");

	if (object == NULL)
		return;
	object->mw = ibv_alloc_mw(pd->pd, IBV_MW_TYPE_2);
	if (keep(call, KIND_MW, object, "ibv_alloc_mw"))
		json_put_number(call->out, "rkey", object->mw->rkey);
}

void call_srq_create(struct call *call)
{
	struct object *pd = find_object(call, KIND_PD, "pd");
	struct ibv_srq_init_attr init = { 0 };

	init.attr.max_wr = (uint32_t)arg_number(call, "maxWr", UINT32_MAX);
	init.attr.max_sge = (uint32_t)arg_number_or(call, "maxSge", UINT32_MAX, 4);
	struct object *object = new_object(call, KIND_SRQ, "srq");
	if (object == NULL)
		return;
	object->srq = ibv_create_srq(pd->pd, &init);
	keep(call, KIND_SRQ, object, "ibv_create_srq");
}

void call_srq_modify(struct call *call)
{
	struct ibv_srq_attr attributes = { .srq_limit = (uint32_t)arg_number(call, "limit", UINT32_MAX) };
	struct object *object = find_object(call, KIND_SRQ, "srq");

	if (!call->failed)
		call_verbs(call, ibv_modify_srq(object->srq, &attributes, IBV_SRQ_LIMIT), "ibv_modify_srq");
}

void call_srq_recv(struct call *call)
{
	struct ibv_sge pieces[PIECES_MAX];
	struct ibv_recv_wr request = { .wr_id = arg_number(call, "wrId", 1ull << 53), .sg_list = pieces };
	struct ibv_recv_wr *bad = NULL;
	struct object *object = find_object(call, KIND_SRQ, "srq");

	request.num_sge = read_pieces(call, pieces, false);
	if (!call->failed)
		call_verbs(call, ibv_post_srq_recv(object->srq, &request, &bad), "ibv_post_srq_recv");
}

void call_ah_create(struct call *call)
{
	struct ibv_ah_attr attributes = { 0 };
	struct object *pd = find_object(call, KIND_PD, "pd");

	read_path(call, call->args, &attributes);
	struct object *object = new_object(call, KIND_AH, "ah");
	if (object == NULL)
		return;
	object->ah = ibv_create_ah(pd->pd, &attributes);
	keep(call, KIND_AH, object, "ibv_create_ah");
}

static struct object *read_group(struct call *call, union ibv_gid *gid, uint16_t *mlid)
{
	*mlid = (uint16_t)arg_number_or(call, "mlid", UINT16_MAX, 0);
	if (!address_to_gid(arg_string(call, "group"), gid))
		call_refuse(call, EINVAL, "\"group\" is no address");
	return find_object(call, KIND_QP, "qp");
}

void call_mcast_attach(struct call *call)
{
	union ibv_gid gid;
	uint16_t mlid;
	struct object *object = read_group(call, &gid, &mlid);

	if (call->failed)
		return;
	if (object->group_count == GROUPS_MAX) {
		call_refuse(call, ENOSPC, "the queue pair is in %d groups already", GROUPS_MAX);
		return;
	}
	call_verbs(call, ibv_attach_mcast(object->qp, &gid, mlid), "ibv_attach_mcast");
	if (call->failed)
		return;
	object->groups[object->group_count].gid = gid;
	object->groups[object->group_count++].mlid = mlid;
}

void call_mcast_detach(struct call *call)
{
	union ibv_gid gid;
	uint16_t mlid;
	struct object *object = read_group(call, &gid, &mlid);

	if (call->failed)
		return;
	call_verbs(call, ibv_detach_mcast(object->qp, &gid, mlid), "ibv_detach_mcast");
	for (int i = 0; !call->failed && i < object->group_count; i++) {
		if (object->groups[i].mlid != mlid || memcmp(&object->groups[i].gid, &gid, sizeof(gid)) != 0)
			continue;
		object->groups[i] = object->groups[--object->group_count];
		break;
	}
}
