/* SPDX-License-Identifier: Apache-2.0 */
/* What the device is and can do, its port and its counters. Reads only. */
#include "agent.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define GIDS_MAX 256
#define PKEYS_MAX 128
#define COUNTERS_MAX 512
/* Capabilities that older headers of verbs have no name for; the values are those of the kernel. */
#define CAPABILITY_FLUSH (1ull << 38 | 1ull << 39)
#define CAPABILITY_ATOMIC_WRITE (1ull << 40)

/* The driver behind a device: that of its PCI function. A device on a network interface has none, and is rxe if it tells which. */
static void find_driver(const struct device *device, char *into, size_t length)
{
	char path[300];
	char target[300];

	memset(into, 0, length);
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/driver", device->name);
	ssize_t got = readlink(path, target, sizeof(target) - 1);
	if (got > 0) {
		target[got] = 0;
		const char *slash = strrchr(target, '/');
		const char *base = slash == NULL ? target : slash + 1;
		memcpy(into, base, strnlen(base, length - 1));
		return;
	}
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/parent", device->name);
	snprintf(into, length, "%s", access(path, R_OK) == 0 ? "rdma_rxe" : "unknown");
}

/* Whether such a queue pair can be made at all. */
static bool can_make(struct device *device, enum ibv_qp_type type)
{
	struct ibv_pd *pd = ibv_alloc_pd(device->context);
	struct ibv_cq *cq = ibv_create_cq(device->context, 1, NULL, NULL, 0);
	struct ibv_qp *qp = NULL;

	if (pd != NULL && cq != NULL) {
		struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = type };
		init.cap = (struct ibv_qp_cap){ .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 };
		qp = ibv_create_qp(pd, &init);
	}
	if (qp != NULL)
		ibv_destroy_qp(qp);
	if (cq != NULL)
		ibv_destroy_cq(cq);
	if (pd != NULL)
		ibv_dealloc_pd(pd);
	return qp != NULL;
}

bool has_feature(const struct device *device, const char *name)
{
	const struct ibv_device_attr *attributes = &device->attributes;

	if (strcmp(name, "srq") == 0)
		return attributes->max_srq > 0;
	if (strcmp(name, "mw2") == 0)
		return (device->capabilities & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)) != 0;
	if (strcmp(name, "atomics") == 0)
		return attributes->atomic_cap != IBV_ATOMIC_NONE;
	if (strcmp(name, "mcast") == 0)
		return attributes->max_mcast_grp > 0;
#ifdef HAVE_FLUSH
	if (strcmp(name, "flush") == 0)
		return (device->capabilities & CAPABILITY_FLUSH) != 0;
#endif
#ifdef HAVE_ATOMIC_WRITE
	if (strcmp(name, "atomic-write") == 0)
		return (device->capabilities & CAPABILITY_ATOMIC_WRITE) != 0;
#endif
	return false;
}

static void put_features(struct device *device, struct text *out, const char *more)
{
	static const char *const known[] = { "srq", "mw2", "atomics", "flush", "atomic-write", "mcast" };
	char words[200];

	json_open(out, "features", '[');
	if (can_make(device, IBV_QPT_UC))
		json_put_string(out, NULL, "uc");
	if (can_make(device, IBV_QPT_UD))
		json_put_string(out, NULL, "ud");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (has_feature(device, known[i]))
			json_put_string(out, NULL, known[i]);
	if (cm_open() >= 0)
		json_put_string(out, NULL, "cm");
	snprintf(words, sizeof(words), "%s", more);
	char *rest = words;
	for (char *word = strsep(&rest, ","); word != NULL; word = strsep(&rest, ","))
		if (*word != 0)
			json_put_string(out, NULL, word);
	json_close(out, ']');
}

static void put_gids(struct device *device, struct text *out)
{
	struct ibv_gid_entry entries[GIDS_MAX];
	ssize_t count = ibv_query_gid_table(device->context, entries, GIDS_MAX, 0);

	json_open(out, "gids", '[');
	for (ssize_t i = 0; i < count; i++) {
		char address[INET6_ADDRSTRLEN];
		union ibv_gid gid;

		if (entries[i].port_num != device->port || entries[i].gid_type == IBV_GID_TYPE_IB)
			continue;
		memcpy(&gid, &entries[i].gid, sizeof(gid));
		gid_to_text(&gid, address, sizeof(address));
		json_open(out, NULL, '{');
		json_put_number(out, "index", entries[i].gid_index);
		json_put_string(out, "address", address);
		json_put_string(out, "type", entries[i].gid_type == IBV_GID_TYPE_ROCE_V2 ? "v2" : "v1");
		json_close(out, '}');
	}
	json_close(out, ']');
}

void describe(struct device *device, struct text *out, const char *more)
{
	struct ibv_port_attr port = { 0 };
	struct utsname kernel;
	char driver[64];

	find_driver(device, driver, sizeof(driver));
	if (ibv_query_port(device->context, device->port, &port) != 0)
		port.active_mtu = IBV_MTU_256;
	json_put_string(out, "device", device->name);
	json_put_string(out, "driver", driver);
	/* A software device is as old as its kernel; its own version is meaningless. */
	bool software = strcmp(driver, "rdma_rxe") == 0 && uname(&kernel) == 0;
	json_put_string(out, "version", software ? kernel.release : device->attributes.fw_ver);
	put_gids(device, out);
	json_put_number(out, "activeMtu", mtu_bytes(port.active_mtu));
	json_put_number(out, "maxQpRdAtomic", (uint64_t)device->attributes.max_qp_rd_atom);
	json_put_number(out, "maxSge", (uint64_t)device->attributes.max_sge);
	put_features(device, out, more);
}

void call_port_query(struct call *call)
{
	static const char *const states[] = { "PORT_NOP",   "PORT_DOWN",   "PORT_INIT",
					      "PORT_ARMED", "PORT_ACTIVE", "PORT_ACTIVE_DEFER" };
	struct device *device = call->device;
	struct ibv_port_attr port = { 0 };
	int error = ibv_query_port(device->context, device->port, &port);

	call_verbs(call, error, "ibv_query_port");
	if (call->failed)
		return;
	bool known = port.state < sizeof(states) / sizeof(states[0]);
	json_put_string(call->out, "state", known ? states[port.state] : "PORT_UNKNOWN");
	json_put_string(call->out, "linkLayer", port.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
	json_put_number(call->out, "lid", port.lid);
	json_put_number(call->out, "smLid", port.sm_lid);
	json_put_number(call->out, "activeMtu", mtu_bytes(port.active_mtu));
	json_open(call->out, "pkeys", '[');
	for (int i = 0; i < port.pkey_tbl_len && i < PKEYS_MAX; i++) {
		__be16 pkey = 0;
		if (ibv_query_pkey(device->context, device->port, i, &pkey) != 0)
			break;
		json_put_number(call->out, NULL, ntohs(pkey));
	}
	json_close(call->out, ']');
}

static bool read_counter(int directory, const char *name, uint64_t *value)
{
	char digits[32] = "";
	int file = openat(directory, name, O_RDONLY | O_CLOEXEC);

	if (file < 0)
		return false;
	ssize_t got = read(file, digits, sizeof(digits) - 1);
	close(file);
	return got > 0 && sscanf(digits, "%" SCNu64, value) == 1;
}

void call_counters(struct call *call)
{
	char path[300];
	int left = COUNTERS_MAX;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/hw_counters", call->device->name,
		 call->device->port);
	json_open(call->out, "counters", '{');
	DIR *directory = opendir(path);
	for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL && left > 0; left--) {
		uint64_t value = 0;
		/* How old a counter may be is a setting. */
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, "lifespan") == 0)
			continue;
		if (read_counter(dirfd(directory), entry->d_name, &value))
			json_put_number(call->out, entry->d_name, value);
	}
	if (directory != NULL)
		closedir(directory);
	json_close(call->out, '}');
}
