/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work: send and receive requests, passed to verbs as given, wrong ones too, unless the agent itself would read out of
 * bounds.
 */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

/*
 * The pieces of a request. `within`: the agent's process reads the bytes itself (inline), so they have to be a region's own; the
 * device looks at the others, which may be wrong on purpose.
 */
int read_pieces(struct call *call, struct ibv_sge *into, bool within)
{
	const struct json *list = json_member(call->args, "pieces");
	int count = 0;

	if (list != NULL && list->type != JSON_ARRAY)
		call_refuse(call, EINVAL, "\"pieces\" is no list");
	const struct json *piece = list == NULL ? NULL : list->first;
	for (; piece != NULL && !call->failed; piece = piece->next, count++) {
		if (count == PIECES_MAX) {
			call_refuse(call, EINVAL, "more than %d pieces", PIECES_MAX);
			break;
		}
		struct object *mr = find_member(call, piece, KIND_MR, "mr");
		uint64_t offset = member_number(call, piece, "offset", UINT64_MAX, true, 0);
		uint32_t length = (uint32_t)member_number(call, piece, "length", UINT32_MAX, true, 0);
		if (call->failed)
			break;
		uint64_t address = (uintptr_t)mr->memory + offset;
		into[count].addr = member_number(call, piece, "address", UINT64_MAX, false, address);
		into[count].length = length;
		into[count].lkey = (uint32_t)member_number(call, piece, "lkey", UINT32_MAX, false, mr->mr->lkey);
		if (within && (into[count].addr != address || offset > mr->length || length > mr->length - offset))
			call_refuse(call, EINVAL, "bytes of an inline request are not within their region");
	}
	return count;
}

void call_qp_recv(struct call *call)
{
	struct ibv_sge pieces[PIECES_MAX];
	struct ibv_recv_wr request = { .wr_id = arg_number(call, "wrId", 1ull << 53), .sg_list = pieces };
	struct ibv_recv_wr *bad = NULL;
	struct object *object = find_object(call, KIND_QP, "qp");

	request.num_sge = read_pieces(call, pieces, false);
	if (!call->failed)
		call_verbs(call, ibv_post_recv(object->qp, &request, &bad), "ibv_post_recv");
}

/* Operations that a request of ibv_post_send has no room for. */
enum { OPERATION_FLUSH = 1000, OPERATION_ATOMIC_WRITE };

static int read_opcode(struct call *call)
{
	static const struct {
		const char *name;
		int opcode;
	} opcodes[] = {
		{ "write", IBV_WR_RDMA_WRITE },
		{ "write-imm", IBV_WR_RDMA_WRITE_WITH_IMM },
		{ "send", IBV_WR_SEND },
		{ "send-imm", IBV_WR_SEND_WITH_IMM },
		{ "send-inv", IBV_WR_SEND_WITH_INV },
		{ "read", IBV_WR_RDMA_READ },
		{ "cmp-swap", IBV_WR_ATOMIC_CMP_AND_SWP },
		{ "fetch-add", IBV_WR_ATOMIC_FETCH_AND_ADD },
		{ "local-inv", IBV_WR_LOCAL_INV },
		{ "bind-mw", IBV_WR_BIND_MW },
		{ "flush", OPERATION_FLUSH },
		{ "atomic-write", OPERATION_ATOMIC_WRITE },
	};
	const char *name = arg_string(call, "opcode");

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++)
		if (strcmp(name, opcodes[i].name) == 0)
			return opcodes[i].opcode;
	call_refuse(call, EINVAL, "\"opcode\" is none that verbs have");
	return IBV_WR_SEND;
}

static unsigned int read_flags(struct call *call)
{
	return (arg_flag(call, "signaled", true) ? IBV_SEND_SIGNALED : 0u) |
	       (arg_flag(call, "solicited", false) ? IBV_SEND_SOLICITED : 0u) |
	       (arg_flag(call, "fence", false) ? IBV_SEND_FENCE : 0u) |
	       (arg_flag(call, "inline", false) ? IBV_SEND_INLINE : 0u);
}

static void read_bind(struct call *call, struct ibv_send_wr *request)
{
	const struct json *bind = json_member(call->args, "bind");
	struct object *mw = find_member(call, bind, KIND_MW, "mw");
	struct object *mr = find_member(call, bind, KIND_MR, "mr");
	uint64_t offset = member_number(call, bind, "offset", UINT64_MAX, true, 0);

	request->bind_mw.rkey = (uint32_t)member_number(call, bind, "rkey", UINT32_MAX, true, 0);
	request->bind_mw.bind_info.length = member_number(call, bind, "length", UINT64_MAX, true, 0);
	request->bind_mw.bind_info.mw_access_flags = (unsigned int)read_access(call, json_member(bind, "access"));
	if (call->failed)
		return;
	request->bind_mw.mw = mw->mw;
	request->bind_mw.bind_info.mr = mr->mr;
	request->bind_mw.bind_info.addr = (uintptr_t)mr->memory + offset;
}

/* What an operation needs besides its pieces. */
static void read_operation(struct call *call, const struct object *object, struct ibv_send_wr *request)
{
	uint64_t address = arg_number_or(call, "remoteAddr", UINT64_MAX, 0);
	uint32_t rkey = (uint32_t)arg_number_or(call, "rkey", UINT32_MAX, 0);

	switch (request->opcode) {
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		request->invalidate_rkey = (uint32_t)arg_number(call, "invalidateRkey", UINT32_MAX);
		break;
	default:
		request->imm_data = htonl((uint32_t)arg_number_or(call, "imm", UINT32_MAX, 0));
	}
	if (request->opcode == IBV_WR_BIND_MW) {
		read_bind(call, request);
	} else if (object->qp->qp_type == IBV_QPT_UD) {
		struct object *ah = find_object(call, KIND_AH, "ah");
		request->wr.ud.ah = ah == NULL ? NULL : ah->ah;
		request->wr.ud.remote_qpn = (uint32_t)arg_number(call, "remoteQpn", UINT32_MAX);
		request->wr.ud.remote_qkey = (uint32_t)arg_number(call, "remoteQkey", UINT32_MAX);
	} else if (request->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		request->wr.atomic.remote_addr = address;
		request->wr.atomic.rkey = rkey;
		request->wr.atomic.compare_add = arg_number_or(call, "compareAdd", UINT64_MAX, 0);
		request->wr.atomic.swap = arg_number_or(call, "swap", UINT64_MAX, 0);
	} else {
		request->wr.rdma.remote_addr = address;
		request->wr.rdma.rkey = rkey;
	}
}

/* FLUSH and ATOMIC WRITE, which have calls of their own. */
static void post_extended(struct call *call, struct object *object, int operation)
{
	bool flush = operation == OPERATION_FLUSH;

	if (!object->extended || !has_feature(call->device, flush ? "flush" : "atomic-write")) {
		call_unsupported(call, "this device or this libibverbs has no %s", flush ? "FLUSH" : "ATOMIC WRITE");
		return;
	}
#ifdef HAVE_ATOMIC_WRITE
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(object->qp);
	struct ibv_sge pieces[PIECES_MAX];
	uint32_t rkey = (uint32_t)arg_number(call, "rkey", UINT32_MAX);
	uint64_t address = arg_number(call, "remoteAddr", UINT64_MAX);
	uint64_t wr_id = arg_number(call, "wrId", 1ull << 53);
	unsigned int flags = read_flags(call);
	const struct json *range = json_member(call->args, "flush");
	uint64_t length = member_number(call, range, "length", UINT32_MAX, flush, 0);
	uint32_t type = (uint32_t)member_number(call, range, "type", UINT8_MAX, flush, 0);
	uint32_t level = (uint32_t)member_number(call, range, "level", UINT8_MAX, flush, 0);

	/* The library copies the eight bytes out of this process. */
	if (!flush && (read_pieces(call, pieces, true) != 1 || pieces[0].length != 8))
		call_refuse(call, EINVAL, "an ATOMIC WRITE has one piece of 8 bytes");
	if (call->failed)
		return;
	ibv_wr_start(qp);
	qp->wr_id = wr_id;
	qp->wr_flags = flags;
	if (!flush)
		ibv_wr_atomic_write(qp, rkey, address, (const void *)(uintptr_t)pieces[0].addr);
#ifdef HAVE_FLUSH
	else
		ibv_wr_flush(qp, rkey, address, length, (uint8_t)type, (uint8_t)level);
#endif
	(void)length, (void)type, (void)level;
	call_verbs(call, ibv_wr_complete(qp), "ibv_wr_complete");
#endif
}

void call_qp_send(struct call *call)
{
	struct ibv_sge pieces[PIECES_MAX];
	struct ibv_send_wr request = { .wr_id = arg_number(call, "wrId", 1ull << 53), .sg_list = pieces };
	struct ibv_send_wr *bad = NULL;
	struct object *object = find_object(call, KIND_QP, "qp");
	int opcode = read_opcode(call);

	if (call->failed)
		return;
	if (opcode >= OPERATION_FLUSH) {
		post_extended(call, object, opcode);
		return;
	}
	request.opcode = (enum ibv_wr_opcode)opcode;
	request.send_flags = read_flags(call);
	request.num_sge = read_pieces(call, pieces, (request.send_flags & IBV_SEND_INLINE) != 0);
	read_operation(call, object, &request);
	if (!call->failed)
		call_verbs(call, ibv_post_send(object->qp, &request, &bad), "ibv_post_send");
}
