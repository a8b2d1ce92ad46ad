/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments and refusals: reads and checks the arguments of a request, and answers one that cannot be done. Calls no
 * verbs.
 */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What older headers of verbs have no name for; the values are those of the kernel. */
#define ACCESS_FLUSH_GLOBAL (1 << 8)
#define ACCESS_FLUSH_PERSISTENT (1 << 9)

static void fail(struct call *call, int error, const char *format, va_list words)
{
	if (call->failed)
		return;
	call->failed = true;
	call->error = error;
	vsnprintf(call->message, sizeof(call->message), format, words);
}

void call_refuse(struct call *call, int error, const char *format, ...)
{
	va_list words;

	va_start(words, format);
	fail(call, error, format, words);
	va_end(words);
}

void call_unsupported(struct call *call, const char *format, ...)
{
	va_list words;

	call->unsupported = call->unsupported || !call->failed;
	va_start(words, format);
	fail(call, EOPNOTSUPP, format, words);
	va_end(words);
}

void call_verbs(struct call *call, int result, const char *what)
{
	int error = abs(result);

	if (error == EOPNOTSUPP || error == ENOSYS)
		call_unsupported(call, "%s: %s", what, strerror(error));
	else if (error != 0)
		call_refuse(call, error, "%s: %s", what, strerror(error));
}

bool arg_present(const struct call *call, const char *name)
{
	return json_member(call->args, name) != NULL;
}

uint64_t member_number(struct call *call, const struct json *of, const char *name, uint64_t max, bool required,
		       uint64_t otherwise)
{
	const struct json *value = json_member(of, name);
	uint64_t number = 0;

	if (value == NULL) {
		if (required)
			call_refuse(call, EINVAL, "there is no \"%s\"", name);
		return otherwise;
	}
	if (!json_unsigned(value, max, &number)) {
		call_refuse(call, EINVAL, "\"%s\" is no whole number from 0 to %llu", name, (unsigned long long)max);
		return 0;
	}
	return number;
}

uint64_t arg_number(struct call *call, const char *name, uint64_t max)
{
	return member_number(call, call->args, name, max, true, 0);
}

uint64_t arg_number_or(struct call *call, const char *name, uint64_t max, uint64_t otherwise)
{
	return member_number(call, call->args, name, max, false, otherwise);
}

bool arg_flag(struct call *call, const char *name, bool otherwise)
{
	const struct json *value = json_member(call->args, name);

	if (value == NULL)
		return otherwise;
	if (value->type != JSON_BOOLEAN)
		call_refuse(call, EINVAL, "\"%s\" is neither true nor false", name);
	return value->boolean;
}

const char *arg_string(struct call *call, const char *name)
{
	const struct json *value = json_member(call->args, name);

	if (value != NULL && value->type == JSON_STRING)
		return value->string;
	call_refuse(call, EINVAL, "\"%s\" is no string", name);
	return "";
}

size_t arg_hex(struct call *call, const char *name, void *into, size_t limit)
{
	size_t length = 0;

	if (!arg_present(call, name))
		return 0;
	if (!hex_decode(arg_string(call, name), into, limit, &length))
		call_refuse(call, EINVAL, "\"%s\" is no hexadecimal digits of at most %zu bytes", name, limit);
	return length;
}

static const struct {
	const char *name;
	int flag;
} rights[] = {
	{ "local-write", IBV_ACCESS_LOCAL_WRITE },
	{ "remote-write", IBV_ACCESS_REMOTE_WRITE },
	{ "remote-read", IBV_ACCESS_REMOTE_READ },
	{ "remote-atomic", IBV_ACCESS_REMOTE_ATOMIC },
	{ "mw-bind", IBV_ACCESS_MW_BIND },
	{ "flush-global", ACCESS_FLUSH_GLOBAL },
	{ "flush-persistent", ACCESS_FLUSH_PERSISTENT },
};
#define RIGHTS (sizeof(rights) / sizeof(rights[0]))

int read_access(struct call *call, const struct json *value)
{
	int access = 0;

	if (value == NULL || value->type != JSON_ARRAY) {
		call_refuse(call, EINVAL, "\"access\" is no list");
		return 0;
	}
	for (const struct json *name = value->first; name != NULL; name = name->next) {
		int flag = 0;
		for (size_t i = 0; i < RIGHTS; i++)
			if (name->type == JSON_STRING && strcmp(name->string, rights[i].name) == 0)
				flag = rights[i].flag;
		if (flag == 0)
			call_refuse(call, EINVAL, "\"access\" has an unknown right");
		access |= flag;
	}
	return access;
}

void put_access(struct text *out, int access)
{
	json_open(out, "access", '[');
	for (size_t i = 0; i < RIGHTS; i++)
		if ((access & rights[i].flag) != 0)
			json_put_string(out, NULL, rights[i].name);
	json_close(out, ']');
}

bool address_to_gid(const char *text, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (inet_pton(AF_INET6, text, gid->raw) == 1)
		return true;
	/* An IPv4 address is a GID as ::ffff:a.b.c.d. */
	gid->raw[10] = 0xff;
	gid->raw[11] = 0xff;
	return inet_pton(AF_INET, text, gid->raw + 12) == 1;
}

void gid_to_text(const union ibv_gid *gid, char *into, size_t length)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (memcmp(gid->raw, mapped, sizeof(mapped)) == 0)
		inet_ntop(AF_INET, gid->raw + 12, into, (socklen_t)length);
	else
		inet_ntop(AF_INET6, gid->raw, into, (socklen_t)length);
}

uint32_t mtu_bytes(enum ibv_mtu mtu)
{
	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : 0;
}
