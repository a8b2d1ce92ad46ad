/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads lines and says of each what the agent's JSON reader makes of it: "fault: ...", or the value in a form without ambiguity, one
 * line each. A line that begins with "w" is written instead: the rest of it is a string.
 */
#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES 512

static void say(const struct json *value)
{
	uint64_t bits;

	switch (value->type) {
	case JSON_NULL:
		printf("null");
		break;
	case JSON_BOOLEAN:
		printf(value->boolean ? "true" : "false");
		break;
	case JSON_NUMBER:
		memcpy(&bits, &value->number, sizeof(bits));
		printf("n%016" PRIx64, bits);
		break;
	case JSON_STRING:
		printf("s");
		for (const char *at = value->string; *at != 0; at++)
			printf("%02x", (unsigned char)*at);
		break;
	default:
		printf(value->type == JSON_ARRAY ? "[" : "{");
		for (const struct json *item = value->first; item != NULL; item = item->next) {
			for (const char *at = item->key; at != NULL && *at != 0; at++)
				printf("%02x", (unsigned char)*at);
			if (item->key != NULL)
				printf(":");
			say(item);
			printf(";");
		}
		printf(value->type == JSON_ARRAY ? "]" : "}");
	}
}

static void write_some(const char *string)
{
	struct text out = { .limit = 4096 };

	json_open(&out, NULL, '{');
	json_put_string(&out, "string", string);
	json_put_number(&out, "number", UINT64_MAX);
	json_put_signed(&out, "signed", -7);
	json_put_wide(&out, "wide", 0xfedcba9876543210);
	json_put_boolean(&out, "boolean", true);
	json_put_null(&out, "null");
	json_open(&out, "list", '[');
	json_put_number(&out, NULL, 1);
	json_open(&out, NULL, '{');
	json_close(&out, '}');
	json_close(&out, ']');
	json_put_hex(&out, "hex", string, strlen(string));
	json_close(&out, '}');
	if (out.full)
		printf("full");
	else
		printf("%.*s", (int)out.length, out.bytes);
	free(out.bytes);
}

int main(void)
{
	static struct json values[VALUES];
	struct json_pool pool = { .values = values, .capacity = VALUES };
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	while ((length = getline(&line, &room, stdin)) > 0) {
		const char *fault = NULL;
		uint64_t number = 0;

		/* An allocation of exactly that size, so that a sanitizer sees what is read behind it. */
		char *text = malloc((size_t)length);
		memcpy(text, line, (size_t)length);
		text[length - 1] = 0;
		if (text[0] == 'w') {
			write_some(text + 1);
		} else {
			const struct json *value = json_parse(&pool, text, (size_t)length - 1, &fault);
			if (value == NULL)
				printf("fault: %s", fault);
			else
				say(value);
			if (value != NULL && json_unsigned(value, UINT64_MAX, &number))
				printf(" =%" PRIu64, number);
		}
		printf("\n");
		free(text);
	}
	free(line);
	return 0;
}
