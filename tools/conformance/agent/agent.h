/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the agent share: the device, the objects that the client made, and a call under way.
 * The protocol is docs/conformance-agent.md; names and units are those of tools/conformance/host-control/host-control.ts.
 */
#ifndef ROCEV2_AGENT_H
#define ROCEV2_AGENT_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "json.h"

#define PROTOCOL 1
#define LINE_BYTES_MAX (1024 * 1024)
#define VALUES_MAX 16384
#define OBJECTS_MAX 16384
#define REGION_BYTES_MAX (256u * 1024 * 1024)
#define MEMORY_BYTES_MAX (1024ull * 1024 * 1024)
/* Of one mem.read; twice that many digits. */
#define READ_BYTES_MAX (1024 * 1024)
#define PIECES_MAX 64
#define COMPLETIONS_MAX 1024
#define EVENTS_MAX 1024
#define GROUPS_MAX 64

enum kind { KIND_PD, KIND_CQ, KIND_MR, KIND_MW, KIND_SRQ, KIND_QP, KIND_AH, KINDS };

/* Something of verbs by the name that the client gave it; names are of their kind. */
struct object {
	struct object *next;
	uint64_t handle;
	union {
		struct ibv_pd *pd;
		struct ibv_cq *cq;
		struct ibv_mr *mr;
		struct ibv_mw *mw;
		struct ibv_srq *srq;
		struct ibv_qp *qp;
		struct ibv_ah *ah;
		void *any;
	};
	/* Of a CQ. */
	struct ibv_comp_channel *channel;
	/* Of a region: its memory, mapped. */
	uint8_t *memory;
	size_t length;
	size_t mapped;
	/* Of a QP: made for the calls of ibv_qp_ex too; the multicast groups it is in. */
	bool extended;
	struct {
		union ibv_gid gid;
		uint16_t mlid;
	} groups[GROUPS_MAX];
	int group_count;
};

struct device {
	struct ibv_context *context;
	const char *name;
	uint8_t port;
	struct ibv_device_attr attributes;
	/* device_cap_flags_ex, which has what the 32 bits before it lack. */
	uint64_t capabilities;
	uint64_t memory_used;
	size_t object_count;
	struct object *objects[KINDS];
};

/* One request being answered: its arguments, and its answer. */
struct call {
	struct device *device;
	const struct json *args;
	struct text *out;
	bool failed;
	bool unsupported;
	int error;
	char message[200];
};

typedef void handler(struct call *call);

/* call.c: what every handler uses. A getter that fails makes the call fail and gives 0; a call fails once, for the first reason. */
void call_refuse(struct call *call, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
void call_unsupported(struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The result of a function of verbs: 0, or an errno with either sign. */
void call_verbs(struct call *call, int result, const char *what);
bool arg_present(const struct call *call, const char *name);
uint64_t arg_number(struct call *call, const char *name, uint64_t max);
uint64_t arg_number_or(struct call *call, const char *name, uint64_t max, uint64_t otherwise);
bool arg_flag(struct call *call, const char *name, bool otherwise);
const char *arg_string(struct call *call, const char *name);
/* Bytes of hexadecimal digits; none where the argument is absent. */
size_t arg_hex(struct call *call, const char *name, void *into, size_t limit);
/* The same, of any object of the request. */
uint64_t member_number(struct call *call, const struct json *of, const char *name, uint64_t max, bool required,
		       uint64_t otherwise);
/* ibv_access_flags by name. */
int read_access(struct call *call, const struct json *value);
void put_access(struct text *out, int access);
bool address_to_gid(const char *text, union ibv_gid *gid);
void gid_to_text(const union ibv_gid *gid, char *into, size_t length);
uint32_t mtu_bytes(enum ibv_mtu mtu);

/* objects.c */
struct object *find_object(struct call *call, enum kind kind, const char *name);
/* Any object's handle by name in a part of the request. */
struct object *find_member(struct call *call, const struct json *of, enum kind kind, const char *name);
struct object *object_of(const struct device *device, enum kind kind, const void *any);
/* An entry for a new object; it belongs to the table only once it was added. */
struct object *new_object(struct call *call, enum kind kind, const char *name);
void add_object(struct device *device, enum kind kind, struct object *object);
/* Destroys one object of verbs and all it holds; an errno where verbs refuse, and it is still there then. */
int destroy_object(struct device *device, enum kind kind, struct object *object);
/* Destroys everything; where something refuses to go, the device is opened anew, which ends it too. */
int destroy_all(struct device *device);
int open_device(struct device *device, const char *name, uint8_t port);
void drain_async_events(struct device *device, struct text *out);

/* describe.c: the first line; `more` is features that the user says the device has, separated by commas. */
void describe(struct device *device, struct text *out, const char *more);
bool has_feature(const struct device *device, const char *name);
handler call_port_query, call_counters;

/* verbs.c, qp.c, post.c */
handler call_pd_alloc, call_cq_create, call_cq_poll, call_cq_arm, call_cq_events, call_mr_reg, call_mem_read, call_mem_write;
handler call_mw_alloc, call_srq_create, call_srq_modify, call_srq_recv, call_ah_create, call_mcast_attach, call_mcast_detach;
handler call_events, call_destroy_pd, call_destroy_cq, call_destroy_mr, call_destroy_mw, call_destroy_srq, call_destroy_qp;
handler call_destroy_ah, call_qp_create, call_qp_modify, call_qp_query, call_qp_send, call_qp_recv;
void read_path(struct call *call, const struct json *path, struct ibv_ah_attr *into);
int read_pieces(struct call *call, struct ibv_sge *into, bool within);

/* cm.c, cm-calls.c */
handler call_cm_listen, call_cm_close, call_cm_connect, call_cm_disconnect, call_cm_events;
/* The descriptor to wait on; -1 where there is no connection manager. */
int cm_open(void);
/* Takes the events of the connection manager, and answers them. Never waits. */
void cm_drain(void);
/* Ends all connections and listeners and forgets their events. */
void cm_reset(void);

/* calls.c: answers one line. */
void answer_line(struct device *device, struct text *out, char *line, size_t length);

#endif
