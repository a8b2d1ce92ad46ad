/* SPDX-License-Identifier: Apache-2.0 */
/* Where clients come from: TCP, a character device, standard input and output. One at a time. */
#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define CONSOLE_WAIT_US 20000

static int complain(const char *what, int error)
{
	fprintf(stderr, "rocev2-agent: %s: %s\n", what, strerror(error));
	return 1;
}

/* "PORT", "ADDRESS:PORT" or "[ADDRESS]:PORT"; without an address, only this machine. */
static bool parse_where(const char *where, struct sockaddr_storage *into)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)into;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)into;
	char text[64] = "127.0.0.1";
	const char *colon = strrchr(where, ':');
	char *end = NULL;
	unsigned long port = strtoul(colon == NULL ? where : colon + 1, &end, 10);

	if (*end != 0 || end == where || port > UINT16_MAX)
		return false;
	if (colon != NULL) {
		size_t length = (size_t)(colon - where);
		bool bracketed = length >= 2 && where[0] == '[' && colon[-1] == ']';
		if (length >= sizeof(text))
			return false;
		memset(text, 0, sizeof(text));
		memcpy(text, where + bracketed, length - 2 * (size_t)bracketed);
	}
	memset(into, 0, sizeof(*into));
	v4->sin_family = AF_INET;
	v4->sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		return true;
	memset(into, 0, sizeof(*into));
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	return inet_pton(AF_INET6, text, &v6->sin6_addr) == 1;
}

static int open_door(const char *where)
{
	struct sockaddr_storage address;
	int yes = 1;

	errno = EINVAL;
	if (!parse_where(where, &address))
		return -1;
	int door = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (door < 0)
		return -1;
	setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	socklen_t length = address.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	if (bind(door, (struct sockaddr *)&address, length) == 0 && listen(door, 8) == 0)
		return door;
	int error = errno;
	close(door);
	errno = error;
	return -1;
}

static void tell_port(const struct service *service, int door)
{
	struct sockaddr_storage address = { 0 };
	socklen_t length = sizeof(address);

	getsockname(door, (struct sockaddr *)&address, &length);
	in_port_t port = address.ss_family == AF_INET ? ((struct sockaddr_in *)&address)->sin_port
						       : ((struct sockaddr_in6 *)&address)->sin6_port;
	fprintf(stderr, "rocev2-agent: %s, port %u\n", service->device->name, ntohs(port));
}

void turn_away(int door)
{
	static const char words[] = "{\"id\":null,\"error\":{\"kind\":\"refused\",\"errno\":\"EBUSY\","
				    "\"message\":\"the agent is serving another client\"}}\n";
	int socket = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (socket < 0)
		return;
	/* A client that does not take it is closed without a message. */
	ssize_t wrote = write(socket, words, sizeof(words) - 1);
	(void)wrote;
	close(socket);
}

/* Keepalives: a client whose host is gone must not hold the device forever. */
static void watch_client(int socket)
{
	int yes = 1;
	int idle_s = 30;
	int interval_s = 10;
	int count = 3;
	unsigned int unanswered_ms = 60000;

	setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
	setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof(unanswered_ms));
}

int serve_tcp(const struct service *service, const char *where)
{
	int door = open_door(where);

	if (door < 0)
		return complain(where, errno);
	tell_port(service, door);
	for (;;) {
		struct pollfd fd = { .fd = door, .events = POLLIN };
		poll(&fd, 1, -1);
		int client = accept4(door, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0)
			continue;
		watch_client(client);
		int error = serve_client(service, client, client, door);
		close(client);
		if (error != 0)
			return complain("the device", error);
		if (service->once)
			return 0;
	}
}

/* A terminal passes bytes as they are; other devices do so anyway. */
static void make_raw(int console)
{
	struct termios settings;

	if (tcgetattr(console, &settings) != 0)
		return;
	cfmakeraw(&settings);
	tcsetattr(console, TCSANOW, &settings);
}

/* A virtio port reports a hangup until the host's end is opened. */
static void await_host(int console)
{
	for (;;) {
		struct pollfd fd = { .fd = console, .events = POLLIN };
		if (poll(&fd, 1, 0) >= 0 && (fd.revents & POLLHUP) == 0)
			return;
		usleep(CONSOLE_WAIT_US);
	}
}

int serve_console(const struct service *service, const char *path)
{
	int console = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	if (console < 0)
		return complain(path, errno);
	make_raw(console);
	do {
		await_host(console);
		int error = serve_client(service, console, console, -1);
		if (error != 0)
			return complain("the device", error);
	} while (!service->once);
	close(console);
	return 0;
}

int serve_stdio(const struct service *service)
{
	int in = dup(STDIN_FILENO);
	int out = dup(STDOUT_FILENO);

	/* Libraries print to standard output now and then; it is for answers only. */
	if (in < 0 || out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return complain("standard input and output", errno);
	int error = serve_client(service, in, out, -1);
	return error == 0 ? 0 : complain("the device", error);
}
