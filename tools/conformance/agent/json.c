/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing of JSON; what and why: json.h. */
#include "json.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 16

struct reader {
	struct json_pool *pool;
	char *at;
	char *end;
	const char *fault;
};

static struct json *read_value(struct reader *reader, int depth);

static struct json *fail(struct reader *reader, const char *fault)
{
	if (reader->fault == NULL)
		reader->fault = fault;
	return NULL;
}

static void skip_space(struct reader *reader)
{
	while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) != NULL && *reader->at != 0)
		reader->at++;
}

static bool take(struct reader *reader, char wanted)
{
	skip_space(reader);
	if (reader->at >= reader->end || *reader->at != wanted)
		return false;
	reader->at++;
	return true;
}

static struct json *new_value(struct reader *reader, enum json_type type)
{
	struct json_pool *pool = reader->pool;

	if (pool->used == pool->capacity)
		return fail(reader, "too many values");
	struct json *value = &pool->values[pool->used++];
	memset(value, 0, sizeof(*value));
	value->type = type;
	return value;
}

static int hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

/* The four digits of \u; -1 where they are none. */
static int32_t read_unit(struct reader *reader)
{
	int32_t unit = 0;

	if (reader->end - reader->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(*reader->at++);
		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

/* Writes a code point as UTF-8, which is never longer than its escape. */
static char *write_point(char *into, uint32_t point)
{
	if (point < 0x80) {
		*into++ = (char)point;
	} else if (point < 0x800) {
		*into++ = (char)(0xc0 | point >> 6);
		*into++ = (char)(0x80 | (point & 0x3f));
	} else if (point < 0x10000) {
		*into++ = (char)(0xe0 | point >> 12);
		*into++ = (char)(0x80 | (point >> 6 & 0x3f));
		*into++ = (char)(0x80 | (point & 0x3f));
	} else {
		*into++ = (char)(0xf0 | point >> 18);
		*into++ = (char)(0x80 | (point >> 12 & 0x3f));
		*into++ = (char)(0x80 | (point >> 6 & 0x3f));
		*into++ = (char)(0x80 | (point & 0x3f));
	}
	return into;
}

/* What follows a backslash; NULL where it is no escape. */
static char *read_escape(struct reader *reader, char *into)
{
	static const char names[] = "\"\\/bfnrt";
	static const char meant[] = "\"\\/\b\f\n\r\t";

	if (reader->at >= reader->end)
		return NULL;
	char name = *reader->at++;
	if (name == 'u') {
		int32_t unit = read_unit(reader);
		/* A zero would end a string of C early; halves of a pair are put together or refused. */
		if (unit <= 0 || (unit >= 0xdc00 && unit <= 0xdfff))
			return NULL;
		if (unit < 0xd800 || unit > 0xdbff)
			return write_point(into, (uint32_t)unit);
		if (reader->end - reader->at < 2 || reader->at[0] != '\\' || reader->at[1] != 'u')
			return NULL;
		reader->at += 2;
		int32_t low = read_unit(reader);
		if (low < 0xdc00 || low > 0xdfff)
			return NULL;
		return write_point(into, 0x10000 + (((uint32_t)unit & 0x3ff) << 10 | ((uint32_t)low & 0x3ff)));
	}
	const char *found = name == 0 ? NULL : strchr(names, name);
	if (found == NULL)
		return NULL;
	*into++ = meant[found - names];
	return into;
}

/* A string whose first quote has been taken, unescaped where it lies. */
static const char *read_string(struct reader *reader)
{
	char *start = reader->at;
	char *into = start;

	while (reader->at < reader->end) {
		char byte = *reader->at++;
		if (byte == '"') {
			*into = 0;
			return start;
		}
		if ((unsigned char)byte < 0x20)
			break;
		if (byte == '\\') {
			into = read_escape(reader, into);
			if (into == NULL)
				break;
		} else {
			*into++ = byte;
		}
	}
	fail(reader, "a string that does not end or has a wrong escape");
	return NULL;
}

static struct json *read_number(struct reader *reader)
{
	char *start = reader->at;
	char *stop = NULL;
	size_t span = strspn(start, "+-.0123456789eE");

	/* strtod knows more than JSON does: names, hexadecimal. The byte after the text is a zero, so it stops there. */
	double number = strtod(start, &stop);
	if (stop != start + span || span == 0 || *start == '+' || *start == '.' || !(number - number == 0))
		return fail(reader, "a number that is none");
	reader->at = stop;
	struct json *value = new_value(reader, JSON_NUMBER);
	if (value != NULL)
		value->number = number;
	return value;
}

static struct json *read_word(struct reader *reader)
{
	static const struct {
		const char *word;
		enum json_type type;
		bool boolean;
	} words[] = { { "true", JSON_BOOLEAN, true }, { "false", JSON_BOOLEAN, false }, { "null", JSON_NULL, false } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i].word);
		if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, words[i].word, length) != 0)
			continue;
		reader->at += length;
		struct json *value = new_value(reader, words[i].type);
		if (value != NULL)
			value->boolean = words[i].boolean;
		return value;
	}
	return fail(reader, "no JSON value");
}

/* Values of an array or members of an object, whose first bracket has been taken. */
static struct json *read_list(struct reader *reader, enum json_type type, char bracket, int depth)
{
	struct json *list = new_value(reader, type);

	if (list == NULL || take(reader, bracket))
		return list;
	struct json **link = &list->first;
	for (;;) {
		const char *key = NULL;
		if (type == JSON_OBJECT) {
			if (!take(reader, '"'))
				return fail(reader, "a member without a name");
			key = read_string(reader);
			if (key == NULL || !take(reader, ':'))
				return fail(reader, "a member without a value");
		}
		struct json *value = read_value(reader, depth + 1);
		if (value == NULL)
			return NULL;
		value->key = key;
		*link = value;
		link = &value->next;
		if (take(reader, bracket))
			return list;
		if (!take(reader, ','))
			return fail(reader, "a list that does not end");
	}
}

static struct json *read_value(struct reader *reader, int depth)
{
	if (depth > DEPTH_MAX)
		return fail(reader, "too many lists inside one another");
	if (take(reader, '{'))
		return read_list(reader, JSON_OBJECT, '}', depth);
	if (take(reader, '['))
		return read_list(reader, JSON_ARRAY, ']', depth);
	if (take(reader, '"')) {
		const char *string = read_string(reader);
		struct json *value = string == NULL ? NULL : new_value(reader, JSON_STRING);
		if (value != NULL)
			value->string = string;
		return value;
	}
	if (reader->at < reader->end && (*reader->at == '-' || hex_digit(*reader->at) >= 0) && *reader->at <= '9')
		return read_number(reader);
	return read_word(reader);
}

struct json *json_parse(struct json_pool *pool, char *text, size_t length, const char **fault)
{
	struct reader reader = { .pool = pool, .at = text, .end = text + length };

	text[length] = 0;
	pool->used = 0;
	struct json *value = read_value(&reader, 0);
	if (value != NULL) {
		skip_space(&reader);
		if (reader.at != reader.end)
			value = fail(&reader, "something after the value");
	}
	*fault = reader.fault;
	return value;
}

const struct json *json_member(const struct json *object, const char *key)
{
	if (object == NULL || object->type != JSON_OBJECT)
		return NULL;
	for (const struct json *member = object->first; member != NULL; member = member->next)
		if (strcmp(member->key, key) == 0)
			return member;
	return NULL;
}

bool json_unsigned(const struct json *value, uint64_t max, uint64_t *into)
{
	if (value->type == JSON_NUMBER) {
		/* Above 2^53 a number says no longer which one is meant. */
		if (!(value->number >= 0 && value->number <= 9007199254740992.0))
			return false;
		*into = (uint64_t)value->number;
		return (double)*into == value->number && *into <= max;
	}
	if (value->type != JSON_STRING || strncmp(value->string, "0x", 2) != 0)
		return false;
	const char *digits = value->string + 2;
	size_t length = strlen(digits);
	if (length == 0 || length > 16)
		return false;
	uint64_t number = 0;
	for (; *digits != 0; digits++) {
		if (hex_digit(*digits) < 0)
			return false;
		number = number << 4 | (uint64_t)hex_digit(*digits);
	}
	*into = number;
	return number <= max;
}

bool hex_decode(const char *digits, void *into, size_t limit, size_t *length)
{
	uint8_t *bytes = into;
	size_t count = strlen(digits) / 2;

	if (digits[count * 2] != 0 || count > limit)
		return false;
	for (size_t i = 0; i < count; i++) {
		int high = hex_digit(digits[i * 2]);
		int low = hex_digit(digits[i * 2 + 1]);
		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	*length = count;
	return true;
}
