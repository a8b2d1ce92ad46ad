/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The little of JSON (RFC 8259) that a line protocol needs. Owns the text and its values; independent of verbs. Reading
 * takes a line apart in place, allocates nothing, and is bounded in depth and in values; writing appends to a text that
 * grows to a limit. Bytes from outside never make it read or write beyond what it was given.
 */
#ifndef ROCEV2_AGENT_JSON_H
#define ROCEV2_AGENT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type { JSON_NULL, JSON_BOOLEAN, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_type type;
	/* Of a member: its name. */
	const char *key;
	bool boolean;
	double number;
	/* Ends in a zero, and has none before. */
	const char *string;
	/* Of an array or object: its first value, which leads to the others. */
	struct json *first;
	struct json *next;
};

/* Values of one line. */
struct json_pool {
	struct json *values;
	size_t capacity;
	size_t used;
};

/*
 * Reads the value that is the whole of `text`, which is `length` bytes and one more that is overwritten with zero. The answer lives
 * as long as `text` and the pool; NULL with the reason in `fault` when it is no such value.
 */
struct json *json_parse(struct json_pool *pool, char *text, size_t length, const char **fault);

/* A member of an object; NULL where there is none. Of equal names the first. */
const struct json *json_member(const struct json *object, const char *key);

/* A whole number from 0 to `max`: a number, or a string of hexadecimal digits after "0x". */
bool json_unsigned(const struct json *value, uint64_t max, uint64_t *into);

/* The text being written. One that reached its limit stays as it is and sets `full`. */
struct text {
	char *bytes;
	size_t length;
	size_t capacity;
	size_t limit;
	bool full;
};

void text_raw(struct text *text, const char *bytes, size_t length);
/* Begins a value; with `key`, a member. Commas come by themselves. */
void json_open(struct text *text, const char *key, char bracket);
void json_close(struct text *text, char bracket);
void json_put_number(struct text *text, const char *key, uint64_t value);
void json_put_signed(struct text *text, const char *key, int64_t value);
/* A number of 64 bits, as a string "0x...". */
void json_put_wide(struct text *text, const char *key, uint64_t value);
void json_put_boolean(struct text *text, const char *key, bool value);
void json_put_null(struct text *text, const char *key);
/* Bytes that are no ASCII are written as question marks. */
void json_put_string(struct text *text, const char *key, const char *value);
void json_put_hex(struct text *text, const char *key, const void *bytes, size_t length);

/* Bytes of an even number of hexadecimal digits; false when they are none, or more than `limit` bytes. */
bool hex_decode(const char *digits, void *into, size_t limit, size_t *length);

#endif
