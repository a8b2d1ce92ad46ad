/*
 * Connections to the server. Several threads may have commands under way on one: whoever waits first receives for all
 * (`reading`), and a command that waits in the server holds nobody up.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "shim.h"

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

/* The server reads and writes this process's memory. Where Yama is at work, it has to be allowed to. */
static void admit_server(int fd)
{
	struct ucred server;
	socklen_t size = sizeof server;
	/* The number of a server that this container has no number for is 0. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &server, &size) == 0 && server.pid > 0)
		prctl(PR_SET_PTRACER, (unsigned long)server.pid, 0, 0, 0);
}

int dial(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	if (strlen(server_path()) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, server_path());
	const int fd = real_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	int failed;
	do
		failed = connect(fd, (struct sockaddr *)&address, sizeof address);
	while (failed && errno == EINTR);
	if (failed) {
		real_close(fd);
		/* As for a device file without a driver. */
		errno = ENXIO;
		return -1;
	}
	admit_server(fd);
	return fd;
}

static bool send_all(int fd, struct iovec *parts, size_t count)
{
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = count };
	while (message.msg_iovlen > 0) {
		ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return false;
		while (message.msg_iovlen > 0 && (size_t)sent >= message.msg_iov->iov_len) {
			sent -= (ssize_t)message.msg_iov->iov_len;
			message.msg_iov++;
			message.msg_iovlen--;
		}
		if (message.msg_iovlen > 0) {
			message.msg_iov->iov_base = (char *)message.msg_iov->iov_base + sent;
			message.msg_iov->iov_len -= (size_t)sent;
		}
	}
	return true;
}

static bool send_frame(int fd, uint16_t type, uint32_t id, const void *body, uint32_t length)
{
	struct frame head = { .length = length, .type = type, .version = WIRE_VERSION, .id = id };
	struct iovec parts[] = { { &head, sizeof head }, { (void *)(uintptr_t)body, length } };
	return send_all(fd, parts, length > 0 ? 2 : 1);
}

static bool receive_all(int fd, void *into, size_t length)
{
	while (length > 0) {
		const ssize_t came = recv(fd, into, length, 0);
		if (came < 0 && errno == EINTR)
			continue;
		if (came <= 0)
			return false;
		into = (char *)into + came;
		length -= (size_t)came;
	}
	return true;
}

static bool receive_head(int fd, struct frame *head)
{
	return receive_all(fd, head, sizeof *head) && head->version == WIRE_VERSION && head->length <= MAX_BODY;
}

/* The descriptor that came with a message, or -1. */
static int descriptor_of(struct msghdr *message)
{
	int fd;
	struct cmsghdr *control = CMSG_FIRSTHDR(message);
	if (control == NULL || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS ||
	    control->cmsg_len != CMSG_LEN(sizeof fd))
		return -1;
	memcpy(&fd, CMSG_DATA(control), sizeof fd);
	return fd;
}

/* As receive_head, with what comes beside its first byte. */
static bool receive_first(int fd, struct frame *head, int *descriptor)
{
	char control[CMSG_SPACE(sizeof *descriptor)] __attribute__((aligned(sizeof(struct cmsghdr))));
	struct iovec part = { head, sizeof *head };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof control };
	ssize_t came;
	do
		came = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	while (came < 0 && errno == EINTR);
	if (came <= 0)
		return false;
	*descriptor = descriptor_of(&message);
	return receive_all(fd, (char *)head + came, sizeof *head - (size_t)came) && head->version == WIRE_VERSION &&
	       head->length <= MAX_BODY;
}

/* The first frame of a connection that nobody else knows yet, and its answer: 0 or a number of errno. */
int say_hello(int fd, uint16_t type, const void *body, uint32_t length, void *answer, uint32_t room, int *descriptor)
{
	struct frame head;
	int came = -1;
	int error = EIO;
	if (send_frame(fd, type, 0, body, length) && receive_first(fd, &head, &came) && head.type == FRAME_ANSWER) {
		if (head.error != 0)
			error = head.length == 0 ? (int)head.error : EIO;
		else if (head.length == room && receive_all(fd, answer, room))
			error = 0;
	}
	if (came >= 0 && (error != 0 || descriptor == NULL)) {
		real_close(came);
		came = -1;
	}
	if (descriptor != NULL)
		*descriptor = came;
	return error;
}

/* The server is gone or talks nonsense: every command ends, as with a device that was unplugged. */
void fail_locked(struct file *file)
{
	for (struct waiter *waiter = file->waiters; waiter != NULL; waiter = waiter->next) {
		waiter->done = true;
		waiter->error = EIO;
	}
	file->waiters = NULL;
	if (file->connection >= 0)
		shutdown(file->connection, SHUT_RDWR);
	pthread_cond_broadcast(&file->changed);
}

static bool note_cancelled(struct file *file, uint32_t length)
{
	const size_t more = length / sizeof(struct cancelled);
	if (length % sizeof(struct cancelled) != 0)
		return false;
	if (file->cancelled_count + more > file->cancelled_room) {
		const size_t room = 2 * (file->cancelled_count + more);
		struct cancelled *larger = realloc(file->cancelled, room * sizeof *larger);
		if (larger == NULL)
			return false;
		file->cancelled = larger;
		file->cancelled_room = room;
	}
	memcpy(file->cancelled + file->cancelled_count, file->body, length);
	file->cancelled_count += more;
	return true;
}

/* Whether that event was cancelled. Each is asked for once, when its record comes; so are those before it. */
bool take_cancelled(struct file *file, uint32_t channel, uint32_t ordinal)
{
	for (size_t at = 0; at < file->cancelled_count; at++) {
		if (file->cancelled[at].channel != channel || file->cancelled[at].ordinal != ordinal)
			continue;
		file->cancelled[at] = file->cancelled[--file->cancelled_count];
		return true;
	}
	return false;
}

static bool deliver(struct file *file, const struct frame *head)
{
	for (struct waiter **at = &file->waiters; *at != NULL; at = &(*at)->next) {
		struct waiter *waiter = *at;
		if (waiter->id != head->id)
			continue;
		*at = waiter->next;
		waiter->done = true;
		waiter->error = (int)head->error;
		waiter->length = head->length < waiter->room ? head->length : waiter->room;
		if (waiter->length > 0)
			memcpy(waiter->into, file->body, waiter->length);
		return true;
	}
	return false;
}

/* One frame for whoever waits for it. Called with the lock, which is not held while nothing comes. */
static void receive_one(struct file *file)
{
	struct frame head;
	const int fd = file->connection;
	file->reading = true;
	pthread_mutex_unlock(&file->lock);
	const bool came = receive_head(fd, &head) && receive_all(fd, file->body, head.length);
	pthread_mutex_lock(&file->lock);
	file->reading = false;
	bool sense = false;
	if (came && head.type == FRAME_ANSWER)
		sense = deliver(file, &head);
	else if (came && head.type == FRAME_CANCELLED)
		sense = note_cancelled(file, head.length);
	if (!sense)
		fail_locked(file);
	pthread_cond_broadcast(&file->changed);
}

int call(struct file *file, const void *bytes, uint32_t length, struct waiter *answer)
{
	pthread_mutex_lock(&file->lock);
	answer->id = file->next_id++;
	answer->done = false;
	answer->error = EIO;
	answer->length = 0;
	tell_read_locked(file);
	if (file->connection >= 0 && send_frame(file->connection, FRAME_COMMAND, answer->id, bytes, length)) {
		answer->next = file->waiters;
		file->waiters = answer;
		while (!answer->done) {
			if (file->reading)
				pthread_cond_wait(&file->changed, &file->lock);
			else
				receive_one(file);
		}
	} else
		fail_locked(file);
	pthread_mutex_unlock(&file->lock);
	return answer->error;
}

/* Only commands that end a queue ask what was read: so it is said before commands, not each time. */
void tell_read_locked(struct file *file)
{
	struct iovec part = { file->untold, file->untold_count * sizeof *file->untold };
	if (file->untold_count > 0 && file->connection >= 0)
		send_all(file->connection, &part, 1);
	file->untold_count = 0;
}

void note_read_locked(struct file *file, uint32_t channel, uint32_t ordinal)
{
	struct event_read *read = &file->untold[file->untold_count++];
	read->head = (struct frame){ .length = 8, .type = FRAME_EVENT_READ, .version = WIRE_VERSION };
	read->channel = channel;
	read->ordinal = ordinal;
	if (file->untold_count == READ_UNTOLD)
		tell_read_locked(file);
}

int tell(struct file *file, uint16_t type, const void *body, uint32_t length)
{
	pthread_mutex_lock(&file->lock);
	const int error = file->connection >= 0 && send_frame(file->connection, type, 0, body, length) ? 0 : EIO;
	pthread_mutex_unlock(&file->lock);
	return error;
}

bool is_orphaned(int fd)
{
	struct file *file = hold(fd);
	if (file == NULL)
		return false;
	pthread_mutex_lock(&file->lock);
	struct pollfd end = { .fd = file->connection, .events = POLLRDHUP };
	const bool gone = file->connection < 0 || (poll(&end, 1, 0) > 0 && (end.revents & (POLLRDHUP | POLLHUP | POLLERR)));
	pthread_mutex_unlock(&file->lock);
	release(file);
	return gone;
}
