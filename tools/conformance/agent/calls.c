/* SPDX-License-Identifier: Apache-2.0 */
/* One line in, one line out: which call it is, and the form of the answer. */
#include "agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void call_reset(struct call *call)
{
	cm_reset();
	call_verbs(call, destroy_all(call->device), "opening the device anew");
}

static const struct {
	const char *name;
	handler *run;
} calls[] = {
	{ "pd.alloc", call_pd_alloc },
	{ "pd.dealloc", call_destroy_pd },
	{ "cq.create", call_cq_create },
	{ "cq.destroy", call_destroy_cq },
	{ "cq.poll", call_cq_poll },
	{ "cq.arm", call_cq_arm },
	{ "cq.events", call_cq_events },
	{ "mr.reg", call_mr_reg },
	{ "mr.dereg", call_destroy_mr },
	{ "mem.read", call_mem_read },
	{ "mem.write", call_mem_write },
	{ "mw.alloc", call_mw_alloc },
	{ "mw.dealloc", call_destroy_mw },
	{ "srq.create", call_srq_create },
	{ "srq.modify", call_srq_modify },
	{ "srq.recv", call_srq_recv },
	{ "srq.destroy", call_destroy_srq },
	{ "qp.create", call_qp_create },
	{ "qp.modify", call_qp_modify },
	{ "qp.query", call_qp_query },
	{ "qp.destroy", call_destroy_qp },
	{ "qp.send", call_qp_send },
	{ "qp.recv", call_qp_recv },
	{ "ah.create", call_ah_create },
	{ "ah.destroy", call_destroy_ah },
	{ "mcast.attach", call_mcast_attach },
	{ "mcast.detach", call_mcast_detach },
	{ "events", call_events },
	{ "port.query", call_port_query },
	{ "counters", call_counters },
	{ "cm.listen", call_cm_listen },
	{ "cm.close", call_cm_close },
	{ "cm.connect", call_cm_connect },
	{ "cm.disconnect", call_cm_disconnect },
	{ "cm.events", call_cm_events },
	{ "reset", call_reset },
};

static handler *find_call(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].run;
	return NULL;
}

static void run_call(struct call *call, const struct json *request)
{
	const struct json *name = json_member(request, "call");

	call->args = json_member(request, "args");
	if (name == NULL || name->type != JSON_STRING) {
		call_refuse(call, EPROTO, "there is no \"call\"");
		return;
	}
	handler *run = find_call(name->string);
	if (run == NULL)
		call_unsupported(call, "there is no call \"%s\"", name->string);
	else if (call->args != NULL && call->args->type != JSON_OBJECT)
		call_refuse(call, EPROTO, "\"args\" is no object");
	else
		run(call);
}

static void put_error(struct text *out, const struct call *call)
{
	const char *name = strerrorname_np(call->error);

	json_open(out, "error", '{');
	json_put_string(out, "kind", call->unsupported ? "unsupported" : "refused");
	json_put_string(out, "errno", name == NULL ? "EIO" : name);
	json_put_string(out, "message", call->message);
	json_close(out, '}');
}

void answer_line(struct device *device, struct text *out, char *line, size_t length)
{
	static struct json values[VALUES_MAX];
	struct json_pool pool = { .values = values, .capacity = VALUES_MAX };
	struct call call = { .device = device, .out = out };
	const char *fault = NULL;
	uint64_t id = 0;
	struct json *request = json_parse(&pool, line, length, &fault);
	const struct json *number = json_member(request, "id");

	json_open(out, NULL, '{');
	bool named = number != NULL && json_unsigned(number, 1ull << 53, &id);
	if (named)
		json_put_number(out, "id", id);
	else
		json_put_null(out, "id");
	size_t answer = out->length;
	json_open(out, "ok", '{');
	if (request == NULL)
		call_refuse(&call, EPROTO, "this line is no request: %s", fault);
	else if (!named)
		call_refuse(&call, EPROTO, "this line is no request: it has no number as its \"id\"");
	else
		run_call(&call, request);
	if (out->full) {
		out->full = false;
		call_refuse(&call, EMSGSIZE, "the answer is too long");
	}
	json_close(out, '}');
	if (call.failed) {
		out->length = answer;
		put_error(out, &call);
	}
	json_close(out, '}');
	text_raw(out, "\n", 1);
}
