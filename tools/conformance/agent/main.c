/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocev2-agent: control for the conformance tester on the host of a device under test. Opens one device and carries out
 * the calls of a client, one line of JSON after the other. The protocol and how to run it: docs/conformance-agent.md.
 */
#include "serve.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: rocev2-agent [-d DEVICE] [-p PORT] [--once] [--feature NAME]... (--listen [ADDRESS:]PORT | --console PATH | --stdio)\n"
	"       rocev2-agent --target PORT\n"
	"  -d, --device    the device, such as rxe0 or mlx5_0; default the first\n"
	"  -p, --port      its port; default 1\n"
	"  -l, --listen    serve over TCP; without an address on 127.0.0.1 only. Anybody who can connect can use the device.\n"
	"  -c, --console   serve over a character device, such as a virtio port\n"
	"  -s, --stdio     serve over standard input and output\n"
	"  -1, --once      end when the first client leaves\n"
	"  -f, --feature   say that the device has a feature that verbs do not tell, such as cnp\n"
	"  -t, --target    serve no client: accept connections at this port of the connection manager, and at the one behind it\n";

struct options {
	const char *device;
	unsigned long port;
	const char *listen;
	const char *console;
	bool stdio;
	bool once;
	/* 0: none. */
	unsigned long target;
	char features[200];
};

/* False for an invalid usage. */
static bool read_options(int count, char **words, struct options *options)
{
	static const struct option names[] = {
		{ "device", required_argument, NULL, 'd' },  { "port", required_argument, NULL, 'p' },
		{ "listen", required_argument, NULL, 'l' },  { "console", required_argument, NULL, 'c' },
		{ "stdio", no_argument, NULL, 's' },	     { "once", no_argument, NULL, '1' },
		{ "feature", required_argument, NULL, 'f' }, { "target", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	int letter;

	while ((letter = getopt_long(count, words, "d:p:l:c:s1f:t:", names, NULL)) != -1) {
		size_t room = sizeof(options->features) - strlen(options->features) - 1;
		switch (letter) {
		case 'd':
			options->device = optarg;
			break;
		case 'p':
			options->port = strtoul(optarg, NULL, 10);
			break;
		case 'l':
			options->listen = optarg;
			break;
		case 'c':
			options->console = optarg;
			break;
		case 's':
			options->stdio = true;
			break;
		case '1':
			options->once = true;
			break;
		case 't':
			options->target = strtoul(optarg, NULL, 10);
			if (options->target == 0 || options->target >= UINT16_MAX)
				return false;
			break;
		case 'f':
			if (strlen(optarg) + 1 > room)
				return false;
			strcat(options->features, optarg);
			strcat(options->features, ",");
			break;
		default:
			return false;
		}
	}
	int ways = (options->listen != NULL) + (options->console != NULL) + options->stdio + (options->target != 0);
	return optind == count && ways == 1 && options->port >= 1 && options->port <= UINT8_MAX;
}

int main(int count, char **words)
{
	struct options options = { .port = 1 };
	struct device device = { 0 };

	if (!read_options(count, words, &options)) {
		fputs(usage, stderr);
		return 2;
	}
	/* write() reports a client that has left. */
	signal(SIGPIPE, SIG_IGN);
	if (options.target != 0)
		return serve_target((uint16_t)options.target);
	int error = open_device(&device, options.device, (uint8_t)options.port);
	if (error != 0) {
		fprintf(stderr, "rocev2-agent: %s: %s\n", options.device == NULL ? "a device" : options.device, strerror(error));
		return 1;
	}
	struct service service = { .device = &device, .features = options.features, .once = options.once };
	if (options.listen != NULL)
		return serve_tcp(&service, options.listen);
	if (options.console != NULL)
		return serve_console(&service, options.console);
	return serve_stdio(&service);
}
