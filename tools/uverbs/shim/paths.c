/* Which paths are ours: device files that a server stands for, and the part of /sys that it has written beside its socket. */
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include "shim.h"

static char socket_path[PATH_ROOM / 2];

void read_environment(void)
{
	const char *path = getenv("ROCE_UVERBS");
	if (path != NULL && strlen(path) < sizeof socket_path)
		strcpy(socket_path, path);
}

const char *server_path(void)
{
	return socket_path[0] == '\0' ? NULL : socket_path;
}

static bool is_below(const char *path, const char *root)
{
	const size_t length = strlen(root);
	return strncmp(path, root, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

enum device device_at(const char *path)
{
	if (path == NULL || socket_path[0] == '\0' || path[0] != '/')
		return NO_DEVICE;
	if (strcmp(path, "/dev/infiniband/uverbs0") == 0)
		return DEVICE_UVERBS;
	return strcmp(path, "/dev/infiniband/rdma_cm") == 0 ? DEVICE_RDMA_CM : NO_DEVICE;
}

const char *redirected(const char *path, char room[PATH_ROOM])
{
	static const char CLASS[] = "/sys/class/infiniband";
	if (path == NULL || socket_path[0] == '\0' || path[0] != '/')
		return path;
	const char *rest = path;
	/* infiniband, infiniband_verbs, and those that there are not. */
	if (strncmp(path, CLASS, sizeof CLASS - 1) == 0 && strchr("/_", path[sizeof CLASS - 1]) != NULL)
		rest = path + 4;
	else if (is_below(path, "/sys/class/misc/rdma_cm"))
		rest = path + 4;
	else if (!is_below(path, "/dev/infiniband"))
		return path;
	const int length = snprintf(room, PATH_ROOM, "%s.sys%s", socket_path, rest);
	return length < PATH_ROOM ? room : path;
}

/* Those of Linux: major 231 is uverbs', 10 that of all misc devices. The server's sysfs says the same. */
dev_t device_number(enum device which)
{
	return which == DEVICE_RDMA_CM ? makedev(10, 120) : makedev(231, 192);
}
