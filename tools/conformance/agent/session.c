/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client: lines in, lines out, and the connection manager in between. Waits in poll() only; while the client does
 * not read its answers, its requests are not read.
 */
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_BYTES_MAX (16u * 1024 * 1024)
/* With this much unread no further line is answered; one answer has at most some 2 MiB, and as much as is unread may be read but there. */
#define OUTPUT_BYTES_HIGH (4u * 1024 * 1024)

struct session {
	const struct service *service;
	int in;
	int out;
	struct text output;
	size_t sent;
	/* Has room for a zero behind the longest line. */
	char *input;
	size_t length;
	/* Lines before this are answered. */
	size_t start;
	/* No line ends before this. */
	size_t seen;
	/* Within a line that is too long, and has been answered. */
	bool skipping;
	bool ended;
	bool gone;
};

static size_t pending(const struct session *session)
{
	return session->output.length - session->sent;
}

static void put_hello(struct session *session)
{
	struct text *output = &session->output;

	json_open(output, NULL, '{');
	json_open(output, "hello", '{');
	describe(session->service->device, output, session->service->features);
	json_put_number(output, "protocol", PROTOCOL);
	json_close(output, '}');
	json_close(output, '}');
	text_raw(output, "\n", 1);
}

static void flush(struct session *session)
{
	while (pending(session) > 0) {
		ssize_t wrote = write(session->out, session->output.bytes + session->sent, pending(session));
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0 && errno != EAGAIN)
			session->gone = true;
		if (wrote <= 0)
			break;
		session->sent += (size_t)wrote;
	}
	/* What was written makes room, once that costs no more than writing it did. */
	if (session->sent < pending(session))
		return;
	session->output.length = pending(session);
	memmove(session->output.bytes, session->output.bytes + session->sent, session->output.length);
	session->sent = 0;
}

/* A line that does not fit is answered once, and then read past. */
static void refuse_long_line(struct session *session)
{
	static const char error[] = "{\"id\":null,\"error\":{\"kind\":\"refused\",\"errno\":\"EMSGSIZE\","
				    "\"message\":\"a line has at most 1048576 bytes\"}}\n";

	if (!session->skipping)
		text_raw(&session->output, error, sizeof(error) - 1);
	session->skipping = true;
	session->length = 0;
	session->start = 0;
	session->seen = 0;
}

static void answer(struct session *session, char *line, size_t length)
{
	if (length > 0 && line[length - 1] == '\r')
		line[--length] = 0;
	if (session->skipping)
		session->skipping = false;
	else if (length > 0)
		answer_line(session->service->device, &session->output, line, length);
}

/* Answers the whole lines that are there, as long as the client reads its answers. */
static void answer_lines(struct session *session)
{
	while (!session->gone && pending(session) < OUTPUT_BYTES_HIGH) {
		char *end = memchr(session->input + session->seen, '\n', session->length - session->seen);
		if (end == NULL) {
			session->seen = session->length;
			break;
		}
		char *line = session->input + session->start;
		session->start = (size_t)(end - session->input) + 1;
		session->seen = session->start;
		*end = 0;
		answer(session, line, (size_t)(end - line));
		cm_drain();
		if (pending(session) > OUTPUT_BYTES_HIGH / 2)
			flush(session);
	}
	if (session->start == 0 && session->length == LINE_BYTES_MAX && session->seen == session->length)
		refuse_long_line(session);
}

static void take_input(struct session *session)
{
	if (session->start > 0) {
		session->length -= session->start;
		session->seen -= session->start;
		memmove(session->input, session->input + session->start, session->length);
		session->start = 0;
	}
	if (session->length == LINE_BYTES_MAX)
		return;
	ssize_t got = read(session->in, session->input + session->length, LINE_BYTES_MAX - session->length);
	if (got > 0)
		session->length += (size_t)got;
	else if (got == 0 || (errno != EAGAIN && errno != EINTR))
		session->ended = true;
}

static void wait_for_something(struct session *session, int door)
{
	bool listens = !session->ended && pending(session) < OUTPUT_BYTES_HIGH;
	bool speaks = pending(session) > 0;
	bool joined = session->in == session->out;
	struct pollfd fds[] = {
		{ .fd = session->in, .events = listens ? POLLIN : 0 },
		/* One descriptor must not be here twice: a virtio port that is looked at for the second entry forgets to wake the first. */
		{ .fd = joined ? -1 : session->out, .events = speaks ? POLLOUT : 0 },
		{ .fd = cm_open(), .events = POLLIN },
		{ .fd = door, .events = POLLIN },
	};

	if (joined && speaks)
		fds[0].events |= POLLOUT;
	if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
		return;
	short ends = POLLHUP | POLLERR | POLLNVAL;
	if ((fds[0].revents & POLLIN) != 0 && listens)
		take_input(session);
	else if ((fds[0].revents & ends) != 0)
		session->ended = true;
	if ((fds[1].revents & ends) != 0 || (joined && session->ended && (fds[0].revents & ends) != 0))
		session->gone = true;
	if ((fds[2].revents & POLLIN) != 0)
		cm_drain();
	if ((fds[3].revents & POLLIN) != 0)
		turn_away(door);
}

int serve_client(const struct service *service, int in, int out, int door)
{
	struct session session = { .service = service, .in = in, .out = out };

	session.output.limit = OUTPUT_BYTES_MAX;
	session.input = malloc(LINE_BYTES_MAX + 1);
	if (session.input == NULL)
		return ENOMEM;
	fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
	fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
	put_hello(&session);
	for (;;) {
		answer_lines(&session);
		flush(&session);
		bool idle = memchr(session.input + session.start, '\n', session.length - session.start) == NULL;
		if (session.gone || (session.ended && idle && pending(&session) == 0))
			break;
		wait_for_something(&session, door);
	}
	free(session.input);
	free(session.output.bytes);
	cm_reset();
	return destroy_all(service->device);
}
