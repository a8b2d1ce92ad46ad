/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's JSON reader for the fuzzer: for each input (length 4, big-endian | bytes) on its standard input one line,
 * what came of it and then the places of the reader that it reached. Places count up in the order in which they are
 * first reached. Compiled with -fsanitize-coverage=trace-pc and the sanitizers; this file itself without the former.
 */
#include "json.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES 512
#define PLACES 4096

static uintptr_t places[PLACES];
static unsigned hits[PLACES];
static unsigned count;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	uintptr_t place = (uintptr_t)__builtin_return_address(0);
	unsigned at = 0;

	while (at < count && places[at] != place)
		at++;
	if (at == PLACES)
		return;
	if (at == count)
		places[count++] = place;
	hits[at]++;
}

int main(void)
{
	static struct json values[VALUES];
	uint32_t prefix;

	while (fread(&prefix, sizeof(prefix), 1, stdin) == 1) {
		struct json_pool pool = { .values = values, .capacity = VALUES };
		struct text out = { .limit = 4096 };
		const char *fault = NULL;
		uint64_t number = 0;
		size_t length = ntohl(prefix);
		/* Of exactly that size, so that a sanitizer sees what is read behind it. */
		char *text = malloc(length + 1);
		const struct json *value;

		if (text == NULL || fread(text, 1, length, stdin) != length)
			return 1;
		text[length] = 0;
		memset(hits, 0, sizeof(hits));
		value = json_parse(&pool, text, length, &fault);
		if (value != NULL) {
			json_unsigned(value, UINT32_MAX, &number);
			json_member(value, "id");
			json_open(&out, NULL, '{');
			if (value->type == JSON_STRING)
				json_put_string(&out, "string", value->string);
			json_put_number(&out, "number", number);
			json_close(&out, '}');
			free(out.bytes);
		}
		printf("%s", value == NULL ? fault : value->type == JSON_OBJECT ? "an object" : "a value");
		for (unsigned at = 0; at < count; at++)
			if (hits[at] != 0)
				printf("\t%u=%u", at, hits[at] > 255 ? 255 : hits[at]);
		printf("\n");
		fflush(stdout);
		free(text);
	}
	return 0;
}
