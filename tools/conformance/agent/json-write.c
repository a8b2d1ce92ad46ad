/* SPDX-License-Identifier: Apache-2.0 */
/* Writing of JSON; what and why: json.h. */
#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_START 4096

/* Room for `length` more bytes. */
static bool reserve(struct text *text, size_t length)
{
	if (text->full || length > text->limit || text->length > text->limit - length) {
		text->full = true;
		return false;
	}
	size_t wanted = text->length + length;
	if (wanted <= text->capacity)
		return true;
	size_t capacity = text->capacity == 0 ? TEXT_START : text->capacity;
	while (capacity < wanted)
		capacity *= 2;
	char *bytes = realloc(text->bytes, capacity);
	if (bytes == NULL) {
		text->full = true;
		return false;
	}
	text->bytes = bytes;
	text->capacity = capacity;
	return true;
}

void text_raw(struct text *text, const char *bytes, size_t length)
{
	if (!reserve(text, length))
		return;
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
}

static void put_char(struct text *text, char byte)
{
	text_raw(text, &byte, 1);
}

static void put_quoted(struct text *text, const char *value)
{
	put_char(text, '"');
	for (; *value != 0; value++) {
		unsigned char byte = (unsigned char)*value;
		if (byte < 0x20 || byte >= 0x7f) {
			put_char(text, '?');
			continue;
		}
		if (byte == '"' || byte == '\\')
			put_char(text, '\\');
		put_char(text, (char)byte);
	}
	put_char(text, '"');
}

/* What goes before a value: a comma, unless something has just been opened, and its name. */
static void begin(struct text *text, const char *key)
{
	char last = text->length == 0 ? '\n' : text->bytes[text->length - 1];

	if (last != '{' && last != '[' && last != '\n')
		put_char(text, ',');
	if (key == NULL)
		return;
	put_quoted(text, key);
	put_char(text, ':');
}

void json_open(struct text *text, const char *key, char bracket)
{
	begin(text, key);
	put_char(text, bracket);
}

void json_close(struct text *text, char bracket)
{
	put_char(text, bracket);
}

static void put_plain(struct text *text, const char *key, const char *value)
{
	begin(text, key);
	text_raw(text, value, strlen(value));
}

void json_put_number(struct text *text, const char *key, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	put_plain(text, key, digits);
}

void json_put_signed(struct text *text, const char *key, int64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, value);
	put_plain(text, key, digits);
}

void json_put_wide(struct text *text, const char *key, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "\"0x%" PRIx64 "\"", value);
	put_plain(text, key, digits);
}

void json_put_boolean(struct text *text, const char *key, bool value)
{
	put_plain(text, key, value ? "true" : "false");
}

void json_put_null(struct text *text, const char *key)
{
	put_plain(text, key, "null");
}

void json_put_string(struct text *text, const char *key, const char *value)
{
	begin(text, key);
	put_quoted(text, value);
}

void json_put_hex(struct text *text, const char *key, const void *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *from = bytes;

	begin(text, key);
	put_char(text, '"');
	if (reserve(text, length * 2)) {
		char *into = text->bytes + text->length;
		for (size_t i = 0; i < length; i++) {
			*into++ = digits[from[i] >> 4];
			*into++ = digits[from[i] & 15];
		}
		text->length += length * 2;
	}
	put_char(text, '"');
}
