/* A client of fake-server.ts: each case is a program of its own, named by the first argument. Exit code 0: as it must be. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../../tools/uverbs/shim/wire.h"

#define DEVICE "/dev/infiniband/uverbs0"
#define CM "/dev/infiniband/rdma_cm"
#define CHECK(that) \
	do { \
		if (!(that)) { \
			fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #that, errno); \
			_exit(1); \
		} \
	} while (0)
#define FAILS_WITH(error, call) CHECK((errno = 0, (call) == -1) && errno == (error))

struct command {
	uint32_t number;
	uint16_t in_words, out_words;
	uint64_t response;
	uint32_t words[8];
};

static int fd;

/* Of the shim. */
_Bool is_orphaned(int fd);

/* -1 and errno, or the first word of the response. */
static int run(int file, uint32_t number, const uint32_t *words, size_t count, uint32_t *response, size_t out)
{
	struct command command = { .number = number, .out_words = (uint16_t)out };
	command.response = (uintptr_t)response;
	if (count > 0)
		memcpy(command.words, words, 4 * count);
	const size_t length = 16 + 4 * count;
	return write(file, &command, length) == (ssize_t)length ? 0 : -1;
}

static uint32_t ask(int file, uint32_t number, uint32_t word)
{
	uint32_t response[2] = { 0 };
	CHECK(run(file, number, &word, 1, response, 2) == 0);
	return response[0];
}

static int create_cq(uint64_t user, int channel, uint32_t response[2])
{
	const uint32_t words[] = { (uint32_t)user, (uint32_t)(user >> 32), 16, 0, (uint32_t)channel, 0 };
	return run(fd, 18, words, 6, response, 2);
}

static uint32_t destroy_cq(uint32_t handle)
{
	return ask(fd, 20, handle);
}

static void notify(uint32_t handle)
{
	/* REQ_NOTIFY_CQ has no response. */
	const uint32_t command[] = { 23, 4 << 16, handle, 0 };
	CHECK(write(fd, command, sizeof command) == sizeof command);
}

static void finds_the_device(void)
{
	struct stat st;
	struct stat64 st64;
	struct statx stx;
	char text[64];
	CHECK(fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(231, 192));
	CHECK(stat64(CM, &st64) == 0 && S_ISCHR(st64.st_mode) && st64.st_rdev == makedev(10, 120));
	CHECK(lstat(DEVICE, &st) == 0 && S_ISCHR(st.st_mode));
	CHECK(fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISCHR(st.st_mode));
	CHECK(statx(AT_FDCWD, DEVICE, 0, STATX_BASIC_STATS, &stx) == 0 && stx.stx_rdev_major == 231);
	CHECK(access(DEVICE, R_OK | W_OK) == 0);
	FAILS_WITH(EACCES, access(DEVICE, X_OK));
	CHECK(access("/sys/class/infiniband/rxe0/node_guid", R_OK) == 0);
	FAILS_WITH(ENOENT, access("/sys/class/infiniband/rxe1", F_OK));
	FAILS_WITH(ENOENT, open("/sys/class/infiniband_mad", O_RDONLY));
	FILE *file = fopen("/sys/class/infiniband/rxe0/node_guid", "r");
	CHECK(file != NULL && fgets(text, sizeof text, file) != NULL && strcmp(text, "0200:00ff:fe00:0001\n") == 0);
	fclose(file);
	int directory = open("/sys/class/infiniband_verbs", O_RDONLY | O_DIRECTORY);
	int inner = openat(directory, "uverbs0/ibdev", O_RDONLY);
	CHECK(read(inner, text, sizeof text) == 5 && memcmp(text, "rxe0\n", 5) == 0);
	char *real = realpath("/sys/class/infiniband/rxe0", NULL);
	CHECK(real != NULL);
	free(real);
	FAILS_WITH(EPROTONOSUPPORT, socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA));
	FAILS_WITH(ENOTTY, ioctl(fd, 0xc0181b01));
	CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
}

static void commands_give_errno_and_response(void)
{
	uint32_t response[4] = { 0, 0, 0, 77 };
	const uint32_t word = 0;
	FAILS_WITH(ENOSYS, run(fd, 99, &word, 1, response, 1));
	FAILS_WITH(EINVAL, write(fd, &word, 4));
	FAILS_WITH(EINVAL, read(fd, response, sizeof response));
	/* No more than the command has room for. */
	const uint32_t bytes = 4096;
	CHECK(run(fd, 16, &bytes, 1, response, 3) == 0);
	CHECK(response[0] == 0x5a5a5a5a && response[2] == 0x5a5a5a5a && response[3] == 77);
	const size_t much = 70000;
	void *large = calloc(1, much);
	FAILS_WITH(E2BIG, write(fd, large, much));
	free(large);
	struct command one = { .number = 13 };
	struct iovec parts[] = { { &one, 16 }, { &one, 16 } };
	CHECK(writev(fd, parts, 2) == 32);
}

static void rings_are_mapped(void)
{
	const uint32_t length = 10000;
	uint32_t ring[2];
	CHECK(run(fd, 24, &length, 1, ring, 2) == 0 && ring[1] == 12288 && ring[0] % 4096 == 0 && ring[0] > 0);
	uint8_t *at = mmap(NULL, ring[1], PROT_READ | PROT_WRITE, MAP_SHARED, fd, ring[0]);
	CHECK(at != MAP_FAILED && at[0] == 0xa5 && at[9999] == 0xa5);
	/* It would end the server. */
	CHECK(ftruncate(fd, 0) == -1 && errno == EPERM);
}

static void memory_is_reached(void)
{
	uint8_t bytes[] = { 1, 2, 3, 4 };
	const uint64_t at = (uintptr_t)bytes;
	uint32_t words[] = { (uint32_t)at, (uint32_t)(at >> 32), sizeof bytes }, sum = 0;
	CHECK(run(fd, 9, words, 3, &sum, 1) == 0 && sum == 10);
	CHECK(bytes[0] == 0xfe && bytes[3] == 0xfb);
	words[0] = 4096;
	words[1] = 0;
	FAILS_WITH(EFAULT, run(fd, 9, words, 3, &sum, 1));
}

static void doorbells_do_not_wait(void)
{
	const uint32_t bell[] = { 28, 0, 0, 0, 7, 0, 0, 0 };
	for (int at = 0; at < 10000; at++)
		CHECK(write(fd, bell, sizeof bell) == sizeof bell);
	CHECK(ask(fd, 2, 0) == 10000);
}

static int ring_bell(uint32_t qp)
{
	const uint32_t bell[] = { 28, 0, 0, 0, qp, 0, 0, 0 };
	return write(fd, bell, sizeof bell) == sizeof bell ? 0 : -1;
}

/* To a state in which it can send, or cannot. */
static void modify_qp(uint32_t qp, uint32_t sends)
{
	uint32_t command[30] = { 26 };
	command[18] = qp;
	command[19] = sends;
	CHECK(write(fd, command, sizeof command) == sizeof command);
}

static void a_first_doorbell_is_answered(void)
{
	modify_qp(7, 0);
	FAILS_WITH(EINVAL, ring_bell(7));
	FAILS_WITH(EINVAL, ring_bell(7));
	modify_qp(7, 1);
	for (int at = 0; at < 5; at++)
		CHECK(ring_bell(7) == 0);
	CHECK(ask(fd, 2, 0) == 5 && ask(fd, 3, 0) == 1);
	/* Whatever a queue pair was, it may be something else after a change. */
	modify_qp(7, 0);
	FAILS_WITH(EINVAL, ring_bell(7));
	modify_qp(7, 1);
	CHECK(ring_bell(7) == 0 && ring_bell(7) == 0);
	CHECK(ask(fd, 2, 0) == 7 && ask(fd, 3, 0) == 2);
	/* One does not speak for another, nor for what comes after it. */
	modify_qp(8, 0);
	modify_qp(7 + 4096, 0);
	FAILS_WITH(EINVAL, ring_bell(8));
	FAILS_WITH(EINVAL, ring_bell(7 + 4096));
	ask(fd, 27, 7);
	CHECK(ring_bell(7) == 0 && ask(fd, 3, 0) == 3);
}

static void events_are_counted(void)
{
	const int channel = (int)ask(fd, 17, 0);
	uint32_t first[2], second[2];
	uint64_t event;
	CHECK(create_cq(0x1111111122222222, channel, first) == 0 && create_cq(0x3333, channel, second) == 0);
	struct pollfd ready = { .fd = channel, .events = POLLIN };
	CHECK(poll(&ready, 1, 0) == 0);
	CHECK(fcntl(channel, F_SETFL, O_NONBLOCK) == 0);
	FAILS_WITH(EAGAIN, read(channel, &event, 8));
	notify(first[0]);
	notify(first[0]);
	notify(second[0]);
	notify(first[0]);
	CHECK(poll(&ready, 1, 1000) == 1);
	FAILS_WITH(EINVAL, read(channel, &event, 7));
	FAILS_WITH(EINVAL, write(channel, &event, 8));
	CHECK(read(channel, &event, 8) == 8 && event == 0x1111111122222222);
	/* One was read; the two others are taken back, and only they. */
	CHECK(destroy_cq(first[0]) == 1);
	CHECK(read(channel, &event, 8) == 8 && event == 0x3333);
	FAILS_WITH(EAGAIN, read(channel, &event, 8));
	CHECK(destroy_cq(second[0]) == 1);
	/* Descriptors that are no channel, or none at all. */
	FAILS_WITH(EINVAL, create_cq(1, fd, first));
	FAILS_WITH(EINVAL, create_cq(1, 0, first));
	FAILS_WITH(EBADF, create_cq(1, 400, first));
	CHECK(create_cq(1, -1, first) == 0 && first[1] == 0xffffffff);
}

/* The server is told of them in between, and of the rest before the command that asks. */
static void more_events_than_are_told_at_once(void)
{
	const int channel = (int)ask(fd, 17, 0);
	uint32_t queue[2];
	uint64_t event;
	CHECK(create_cq(7, channel, queue) == 0);
	for (int at = 0; at < 100; at++)
		notify(queue[0]);
	for (int at = 0; at < 70; at++)
		CHECK(read(channel, &event, 8) == 8);
	CHECK(destroy_cq(queue[0]) == 70);
}

static uint32_t word_of(uint32_t queue)
{
	return ask(fd, 25, queue);
}

static int arm(uint32_t queue, uint32_t solicited_only)
{
	const uint32_t command[] = { 23, 4, queue, solicited_only };
	return write(fd, command, sizeof command) == sizeof command ? 0 : -1;
}

static void queues_are_armed_without_a_command(void)
{
	const int channel = (int)ask(fd, 17, 0);
	uint64_t event;
	uint32_t plain[2], quick[2];
	const uint32_t words[] = { 9, 0, 77, 0, (uint32_t)channel, 0 };
	CHECK(create_cq(8, channel, plain) == 0 && run(fd, 18, words, 6, quick, 2) == 0);
	CHECK(fcntl(channel, F_SETFL, O_NONBLOCK) == 0);
	/* This server answers such commands by an event: none comes. */
	CHECK(arm(quick[0], 1) == 0 && word_of(quick[0]) == (ARM_QUEUE | ARM_SOLICITED));
	CHECK(arm(quick[0], 0) == 0 && word_of(quick[0]) == (ARM_QUEUE | ARM_SOLICITED | ARM_ANY));
	FAILS_WITH(EAGAIN, read(channel, &event, 8));
	/* A queue that the server has no word for, a number that is none, one beyond the words: commands. */
	CHECK(arm(plain[0], 0) == 0 && word_of(plain[0]) == 0);
	CHECK(read(channel, &event, 8) == 8 && event == 8);
	CHECK(arm(0, 0) == 0 && arm(ARMED, 0) == 0 && arm(0xffffffff, 0) == 0 && word_of(0) == 0);
	/* So is what is not written as libibverbs writes it. */
	notify(quick[0]);
	CHECK(read(channel, &event, 8) == 8 && event == 9);
}

static void descriptors_are_shared(void)
{
	const int copy = dup(fd), high = fcntl(fd, F_DUPFD_CLOEXEC, 100), chosen = dup2(fd, 90);
	CHECK(copy > fd && high >= 100 && chosen == 90);
	CHECK(close(fd) == 0);
	FAILS_WITH(EBADF, run(fd, 13, NULL, 0, NULL, 0));
	CHECK(ask(copy, 2, 0) == 0);
	/* Another file takes the number: the device's is closed there. */
	const int zero = open("/dev/null", O_WRONLY);
	CHECK(dup2(zero, chosen) == 90 && write(chosen, "x", 1) == 1);
	/* What the program does not know of it cannot close. */
	for (int at = 3; at < 1024; at++)
		if (at != high)
			close(at);
	CHECK(ask(high, 2, 0) == 0);
	CHECK(close_range((unsigned int)high + 1, ~0u, 0) == 0);
	CHECK(ask(high, 2, 0) == 0);
	CHECK(close_range(3, ~0u, 0) == 0);
	FAILS_WITH(EBADF, run(high, 13, NULL, 0, NULL, 0));
	CHECK(open(DEVICE, O_RDWR) >= 0);
}

static void *wait_in_server(void *file)
{
	return (void *)(uintptr_t)ask(*(int *)file, 4, 0);
}

static void threads_do_not_wait_for_each_other(void)
{
	pthread_t waiting[4];
	for (int at = 0; at < 4; at++)
		CHECK(pthread_create(&waiting[at], NULL, wait_in_server, &fd) == 0);
	for (int at = 0; at < 1000; at++)
		CHECK(ask(fd, 2, 0) == 0);
	/* Closed while commands are under way: these go on, and new ones fail. */
	const int copy = dup(fd);
	close(fd);
	FAILS_WITH(EBADF, run(fd, 2, NULL, 0, NULL, 0));
	for (;;) {
		void *answer;
		ask(copy, 13, 0);
		if (pthread_tryjoin_np(waiting[0], &answer) == 0) {
			CHECK(answer == (void *)13);
			break;
		}
	}
	for (int at = 1; at < 4; at++) {
		void *answer;
		struct timespec soon;
		do {
			ask(copy, 13, 0);
			clock_gettime(CLOCK_REALTIME, &soon);
			soon.tv_nsec = (soon.tv_nsec + 1000000) % 1000000000;
		} while (pthread_timedjoin_np(waiting[at], &answer, &soon) != 0);
		CHECK(answer == (void *)13);
	}
}

static void *read_events(void *channel)
{
	uint64_t event;
	while (read(*(int *)channel, &event, 8) == 8)
		if (event == 0xdead)
			return NULL;
	return (void *)1;
}

static void *many_commands(void *nothing)
{
	const uint32_t bell[] = { 28, 0, 0, 0, 7, 0, 0, 0 };
	for (int at = 0; at < 500; at++) {
		CHECK(write(fd, bell, sizeof bell) == sizeof bell);
		ask(fd, 2, 0);
		close(dup(fd));
	}
	return nothing;
}

static void many_threads(void)
{
	pthread_t threads[4], reader;
	void *result;
	int channel = (int)ask(fd, 17, 0);
	uint32_t cq[2], last[2];
	CHECK(pthread_create(&reader, NULL, read_events, &channel) == 0);
	for (int at = 0; at < 4; at++)
		CHECK(pthread_create(&threads[at], NULL, many_commands, NULL) == 0);
	for (int at = 0; at < 200; at++) {
		CHECK(create_cq(0x10000u + (unsigned int)at, channel, cq) == 0);
		notify(cq[0]);
		CHECK(destroy_cq(cq[0]) <= 1);
	}
	for (int at = 0; at < 4; at++)
		pthread_join(threads[at], NULL);
	CHECK(create_cq(0xdead, channel, last) == 0);
	notify(last[0]);
	CHECK(pthread_join(reader, &result) == 0 && result == NULL);
	CHECK(destroy_cq(last[0]) == 1 && ask(fd, 2, 0) == 2000);
}

static void a_reader_can_be_cancelled(void)
{
	pthread_t reader;
	void *result;
	int channel = (int)ask(fd, 17, 0);
	CHECK(pthread_create(&reader, NULL, read_events, &channel) == 0);
	ask(fd, 2, 0);
	CHECK(pthread_cancel(reader) == 0 && pthread_join(reader, &result) == 0 && result == PTHREAD_CANCELED);
	CHECK(close(channel) == 0 && ask(fd, 2, 0) == 0);
}

static void children_share_files(void)
{
	const uint32_t bell[] = { 28, 0, 0, 0, 7, 0, 0, 0 };
	int status;
	const pid_t child = fork();
	if (child == 0) {
		for (int at = 0; at < 300; at++) {
			CHECK(write(fd, bell, sizeof bell) == sizeof bell);
			ask(fd, 2, 0);
		}
		_exit(0);
	}
	for (int at = 0; at < 300; at++) {
		CHECK(write(fd, bell, sizeof bell) == sizeof bell);
		ask(fd, 2, 0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK(ask(fd, 2, 0) == 600);
	/* vfork: the child has its parent's memory, and must not close the parent's files. */
	const pid_t borrower = vfork();
	if (borrower == 0) {
		close(fd);
		close_range(3, ~0u, 0);
		_exit(0);
	}
	CHECK(waitpid(borrower, &status, 0) == borrower && ask(fd, 2, 0) == 600);
	/* A daemon: the parent ends, the child has the file. */
	int ends[2];
	CHECK(pipe(ends) == 0);
	const pid_t parent = fork();
	if (parent == 0) {
		if (fork() != 0)
			_exit(0);
		/* The parent's end shows in ours being adopted. */
		while (getppid() == (pid_t)0)
			;
		char byte = ask(fd, 2, 0) == 600;
		CHECK(write(ends[1], &byte, 1) == 1);
		_exit(0);
	}
	CHECK(waitpid(parent, &status, 0) == parent);
	close(fd);
	char byte = 0;
	CHECK(read(ends[0], &byte, 1) == 1 && byte == 1);
}

static void events_of_rdma_cm(void)
{
	const int cm = open(CM, O_RDWR | O_NONBLOCK), other = open(CM, O_RDWR);
	uint32_t response[2] = { 0 };
	struct {
		uint32_t number;
		uint16_t in, out;
		uint64_t response;
		uint32_t id, fd;
	} command = { .number = 12, .out = 4, .response = (uintptr_t)response };
	struct {
		uint32_t number;
		uint16_t in, out;
		uint64_t uid, response;
	} create = { .number = 0, .out = 4, .response = (uintptr_t)response };
	struct pollfd ready = { .fd = cm, .events = POLLIN };
	FAILS_WITH(EAGAIN, write(cm, &command, 16));
	command.number = 7;
	CHECK(write(cm, &command, 16) == 16 && poll(&ready, 1, 1000) == 1);
	command.number = 12;
	CHECK(write(cm, &command, 16) == 16 && response[0] == 1 && poll(&ready, 1, 0) == 0);
	/* One that was withdrawn. */
	command.number = 8;
	CHECK(write(cm, &command, 16) == 16);
	command.number = 12;
	FAILS_WITH(EAGAIN, write(cm, &command, 16));
	/* The other file is named by its descriptor, and the server knows it by its number. */
	CHECK(write(other, &create, sizeof create) == sizeof create);
	const uint32_t number = response[0];
	command.number = 18;
	command.fd = (uint32_t)other;
	CHECK(write(cm, &command, sizeof command) == sizeof command && response[0] == number);
	command.fd = (uint32_t)fd;
	FAILS_WITH(EINVAL, write(cm, &command, sizeof command));
	command.fd = 77;
	FAILS_WITH(EBADF, write(cm, &command, sizeof command));
	FAILS_WITH(ENOTTY, ioctl(cm, 1));
}

/* The test kills the server when it has read the line. */
static void the_server_dies(void)
{
	const int channel = (int)ask(fd, 17, 0);
	uint64_t event;
	pthread_t waiting;
	CHECK(printf("ready\n") > 0 && fflush(stdout) == 0);
	(void)waiting;
	/* As a program that polls a ring learns of it, which nobody else tells. */
	while (!is_orphaned(fd))
		usleep(1000);
	FAILS_WITH(EIO, run(fd, 4, NULL, 0, (uint32_t *)&event, 1));
	FAILS_WITH(EIO, run(fd, 2, NULL, 0, (uint32_t *)&event, 1));
	FAILS_WITH(EIO, read(channel, &event, 8));
	FAILS_WITH(ENXIO, open(DEVICE, O_RDWR));
	CHECK(close(fd) == 0 && close(channel) == 0);
}

/* Waits to be killed, with a command under way. */
static void waits(void)
{
	CHECK(!is_orphaned(fd));
	CHECK(printf("ready\n") > 0 && fflush(stdout) == 0);
	run(fd, 4, NULL, 0, NULL, 0);
}

#define CASE(name) { #name, name }
static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	CASE(finds_the_device),
	CASE(commands_give_errno_and_response),
	CASE(rings_are_mapped),
	CASE(memory_is_reached),
	CASE(doorbells_do_not_wait),
	CASE(a_first_doorbell_is_answered),
	CASE(events_are_counted),
	CASE(more_events_than_are_told_at_once),
	CASE(queues_are_armed_without_a_command),
	CASE(descriptors_are_shared),
	CASE(threads_do_not_wait_for_each_other),
	CASE(many_threads),
	CASE(a_reader_can_be_cancelled),
	CASE(children_share_files),
	CASE(events_of_rdma_cm),
	CASE(the_server_dies),
	CASE(waits),
};

int main(int count, char **arguments)
{
	for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
		if (count != 2 || strcmp(cases[at].name, arguments[1]) != 0)
			continue;
		fd = open(DEVICE, O_RDWR | O_CLOEXEC);
		CHECK(fd >= 0);
		cases[at].run();
		return 0;
	}
	return 2;
}
