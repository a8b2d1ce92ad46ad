/*
 * What the kernel does with calls on these files: open, write (the commands) and read (the events). Knows of the
 * commands only where they name descriptors or where a response goes; all else is the server's.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include "shim.h"

/* Of include/uapi/rdma/ib_user_verbs.h: command u32, in_words u16, out_words u16, then mostly response u64. */
enum {
	GET_CONTEXT = 0,
	CREATE_COMP_CHANNEL = 17,
	CREATE_CQ = 18,
	DESTROY_CQ = 20,
	REQ_NOTIFY_CQ = 23,
	MODIFY_QP = 26,
	DESTROY_QP = 27,
	POST_SEND = 28,
	DESTROY_SRQ = 35,
	RESPONSE_AT = 8,
	CREATE_CQ_CHANNEL_AT = 32,
	EX_CREATE_CQ_CHANNEL_AT = 40,
	MODIFY_QP_AT = 72,
	EX_MODIFY_QP_AT = 88,
	DESTROY_QP_AT = 16,
	POST_SEND_QP_AT = 16,
	POST_SEND_COUNT_AT = 20,
};
static const uint32_t EXTENDED = 0x80000000u;
/* Of include/uapi/rdma/rdma_user_cm.h. */
enum { CM_CREATE_ID = 0, CM_GET_EVENT = 12, CM_MIGRATE_ID = 18, CM_CREATE_ID_RESPONSE_AT = 16, CM_MIGRATE_FD_AT = 20 };
enum { RDMA_CM_CHANNEL = 0 };

static uint32_t word_at(const void *bytes, size_t length, size_t at)
{
	uint32_t word = 0;
	if (at + sizeof word <= length)
		memcpy(&word, (const char *)bytes + at, sizeof word);
	return word;
}

/* Commands cannot be cut short by pthread_cancel, as in the kernel. */
static int uncancellable(void)
{
	int before;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static ssize_t result(int error, ssize_t value)
{
	if (error == 0)
		return value;
	errno = error;
	return -1;
}

/* A connection that the program sees, or -1 and errno. */
static int open_channel(const uint8_t token[TOKEN_BYTES], uint32_t channel)
{
	uint8_t body[TOKEN_BYTES + sizeof channel];
	memcpy(body, token, TOKEN_BYTES);
	memcpy(body + TOKEN_BYTES, &channel, sizeof channel);
	const int fd = dial();
	if (fd < 0)
		return -1;
	const int error = say_hello(fd, FRAME_CHANNEL, body, sizeof body, NULL, 0, NULL);
	if (error == 0)
		return fd;
	real_close(fd);
	errno = error;
	return -1;
}

/* `shared` is the server's file, which came with the answer, or -1. */
static int visible_descriptor(struct file *file, int shared)
{
	if (file->kind == KIND_RDMA_CM)
		return open_channel(file->token, RDMA_CM_CHANNEL);
	if (shared < 0) {
		errno = EIO;
		return -1;
	}
	void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
	if (page != MAP_FAILED)
		file->progress = page;
	return shared;
}

/* What the program makes of it says little. */
static void complain_of_server(int error)
{
	if (error == EIO || error == EACCES)
		dprintf(STDERR_FILENO, "roce: the server at %s does not admit this program, and says why\n", server_path());
}

static int open_file(struct file *file, int flags)
{
	struct opened opened;
	const uint32_t kind = file->kind == KIND_UVERBS ? FILE_UVERBS : FILE_RDMA_CM;
	const int connection = dial();
	if (connection < 0)
		return -1;
	/* Out of the way first: the program's descriptor is the lowest that is free, as from the kernel. */
	file->connection = hide(connection);
	if (file->connection < 0)
		return -1;
	int shared;
	const int error = say_hello(file->connection, FRAME_OPEN, &kind, sizeof kind, &opened, sizeof opened, &shared);
	if (error != 0) {
		complain_of_server(error);
		errno = error;
		return -1;
	}
	memcpy(file->token, opened.token, TOKEN_BYTES);
	file->number = opened.number;
	const int fd = visible_descriptor(file, shared);
	if (fd < 0)
		return -1;
	if ((flags & O_CLOEXEC) == 0)
		real_fcntl(fd, F_SETFD, 0);
	if ((flags & O_NONBLOCK) != 0)
		real_fcntl(fd, F_SETFL, O_NONBLOCK);
	if (enter(fd, file))
		return fd;
	real_close(fd);
	errno = EMFILE;
	return -1;
}

int open_device(enum device which, int flags)
{
	const int before = uncancellable();
	struct file *file = new_file(which == DEVICE_UVERBS ? KIND_UVERBS : KIND_RDMA_CM);
	int fd = -1;
	if (file == NULL)
		errno = ENOMEM;
	else {
		fd = open_file(file, flags);
		const int error = errno;
		release(file);
		errno = error;
	}
	pthread_setcancelstate(before, NULL);
	return fd;
}

/* Makes the number of a channel, in a response, a descriptor of it: 0 or a number of errno. */
static int make_channel_descriptor(struct file *owner, enum kind kind, void *response, uint32_t length)
{
	const uint32_t channel = word_at(response, length, 0);
	struct file *file = new_channel(kind, owner, channel);
	if (file == NULL)
		return ENOMEM;
	int fd = open_channel(owner->token, channel);
	if (fd >= 0 && !enter(fd, file)) {
		real_close(fd);
		fd = -1;
		errno = EMFILE;
	}
	const int error = fd < 0 ? errno : 0;
	release(file);
	memcpy(response, &fd, sizeof fd);
	return error;
}

/* Puts the channel's number in the place of its descriptor: 0 or a number of errno. */
static int name_channel(struct file *owner, char *command, size_t length, size_t at)
{
	const int fd = (int)word_at(command, length, at);
	if (fd < 0 || at + sizeof fd > length)
		return 0;
	struct file *channel = hold(fd);
	if (channel == NULL)
		return real_fcntl(fd, F_GETFD) < 0 ? EBADF : EINVAL;
	const bool fits = channel->owner == owner && channel->kind == KIND_COMPLETIONS;
	if (fits)
		memcpy(command + at, &channel->channel, sizeof channel->channel);
	release(channel);
	return fits ? 0 : EINVAL;
}

/* Puts the number of another file of rdma_cm in the place of its descriptor. */
static int name_file(char *command, size_t length, size_t at)
{
	struct file *other = hold((int)word_at(command, length, at));
	if (other == NULL || at + sizeof other->number > length)
		return EBADF;
	const bool fits = other->kind == KIND_RDMA_CM;
	if (fits)
		memcpy(command + at, &other->number, sizeof other->number);
	release(other);
	return fits ? 0 : EINVAL;
}

static void count_destroying(struct file *file, int more)
{
	pthread_mutex_lock(&file->lock);
	file->destroying += more;
	pthread_cond_broadcast(&file->changed);
	pthread_mutex_unlock(&file->lock);
}

static void *response_of(const char *command, size_t length, size_t at)
{
	void *response = NULL;
	if (at + sizeof response <= length)
		memcpy(&response, command + at, sizeof response);
	return response;
}

static void note_changes(struct file *file, const char *command, size_t length)
{
	const uint32_t number = word_at(command, length, 0);
	if (number == MODIFY_QP)
		note_changed(file, word_at(command, length, MODIFY_QP_AT));
	else if (number == (MODIFY_QP | EXTENDED))
		note_changed(file, word_at(command, length, EX_MODIFY_QP_AT));
	else if (number == DESTROY_QP)
		note_changed(file, word_at(command, length, DESTROY_QP_AT));
}

static int write_uverbs(struct file *file, char *command, size_t length)
{
	const uint32_t number = word_at(command, length, 0);
	const uint32_t out_words = word_at(command, length, 4) >> 16;
	/* Of an extended command the words are of 8 bytes, and there may be some for the provider. */
	const uint32_t out_bytes = (number & EXTENDED) == 0 ? 4 * out_words : 8 * (out_words + (word_at(command, length, 16) >> 16));
	const bool rings = number == POST_SEND && word_at(command, length, POST_SEND_COUNT_AT) == 0 && length > POST_SEND_COUNT_AT;
	const uint32_t rung = word_at(command, length, POST_SEND_QP_AT);
	if (rings && is_sending(file, rung))
		return tell(file, FRAME_DOORBELL, command + POST_SEND_QP_AT, sizeof(uint32_t));
	if (number == REQ_NOTIFY_CQ && arm_queue(file, command, length))
		return 0;
	int error = 0;
	if (number == CREATE_CQ)
		error = name_channel(file, command, length, CREATE_CQ_CHANNEL_AT);
	else if (number == (CREATE_CQ | EXTENDED))
		error = name_channel(file, command, length, EX_CREATE_CQ_CHANNEL_AT);
	if (error != 0)
		return error;
	const bool destroys = number == DESTROY_CQ || number == DESTROY_QP || number == DESTROY_SRQ;
	struct waiter answer = { .into = response_of(command, length, RESPONSE_AT), .room = out_bytes };
	note_changes(file, command, length);
	if (destroys)
		count_destroying(file, 1);
	error = call(file, command, (uint32_t)length, &answer);
	if (destroys)
		count_destroying(file, -1);
	if (error == 0 && rings)
		note_sending(file, rung);
	if (error == 0 && number == GET_CONTEXT)
		return make_channel_descriptor(file, KIND_ASYNC, answer.into, answer.length);
	if (error == 0 && number == CREATE_COMP_CHANNEL)
		return make_channel_descriptor(file, KIND_COMPLETIONS, answer.into, answer.length);
	return error;
}

/* Waits for an event as the descriptor says, and takes it: 0 or a number of errno. */
static int await_event(int fd, struct file *file)
{
	char one;
	pthread_mutex_lock(&file->lock);
	const bool ready = file->ready > 0;
	if (ready)
		file->ready--;
	pthread_mutex_unlock(&file->lock);
	if (ready)
		return 0;
	const ssize_t came = real_read(fd, &one, 1);
	return came == 1 ? 0 : came == 0 ? EIO : errno;
}

static void put_back_event(struct file *file)
{
	pthread_mutex_lock(&file->lock);
	file->ready++;
	pthread_mutex_unlock(&file->lock);
}

static int write_rdma_cm(int fd, struct file *file, char *command, size_t length)
{
	const uint32_t number = word_at(command, length, 0);
	int error = number == CM_MIGRATE_ID ? name_file(command, length, CM_MIGRATE_FD_AT) : 0;
	if (error != 0)
		return error;
	const size_t at = number == CM_CREATE_ID ? CM_CREATE_ID_RESPONSE_AT : RESPONSE_AT;
	struct waiter answer = { .into = response_of(command, length, at), .room = word_at(command, length, 4) >> 16 };
	do {
		if (number == CM_GET_EVENT)
			error = await_event(fd, file);
		if (error != 0)
			return error;
		const int before = uncancellable();
		error = call(file, command, (uint32_t)length, &answer);
		pthread_setcancelstate(before, NULL);
		/* An event that was announced may be gone, with its id. */
	} while (number == CM_GET_EVENT && error == EAGAIN);
	if (number == CM_GET_EVENT && error != 0 && error != EIO)
		put_back_event(file);
	return error;
}

ssize_t write_device(int fd, struct file *file, const void *bytes, size_t length)
{
	/* A header at least; and channels are not written to. */
	if (length < 8 || file->owner != NULL)
		return result(EINVAL, 0);
	if (length > MAX_BODY)
		return result(E2BIG, 0);
	char small[1024];
	char *command = length <= sizeof small ? small : malloc(length);
	if (command == NULL)
		return result(ENOMEM, 0);
	memcpy(command, bytes, length);
	int error;
	if (file->kind == KIND_RDMA_CM)
		error = write_rdma_cm(fd, file, command, length);
	else {
		const int before = uncancellable();
		error = write_uverbs(file, command, length);
		pthread_setcancelstate(before, NULL);
	}
	if (command != small)
		free(command);
	return result(error, (ssize_t)length);
}

/*
 * Whether the event is the program's, which the server is told before any command of later. Between an answer
 * that cancels events and its arrival here, none is taken.
 */
static bool take_event(struct file *channel, uint32_t ordinal)
{
	struct file *file = channel->owner;
	const int before = uncancellable();
	pthread_mutex_lock(&file->lock);
	while (file->destroying > 0)
		pthread_cond_wait(&file->changed, &file->lock);
	const bool ours = !take_cancelled(file, channel->channel, ordinal);
	if (ours)
		note_read_locked(file, channel->channel, ordinal);
	pthread_mutex_unlock(&file->lock);
	pthread_setcancelstate(before, NULL);
	return ours;
}

ssize_t read_device(int fd, struct file *file, void *bytes, size_t length)
{
	const size_t size = file->kind == KIND_COMPLETIONS ? 8 : 16;
	if (file->owner == NULL || length < size)
		return result(EINVAL, 0);
	struct record record;
	do {
		const ssize_t came = real_read(fd, &record, sizeof record);
		if (came < 0)
			return -1;
		if (came != sizeof record || record.length != size)
			return result(EIO, 0);
	} while (!take_event(file, record.ordinal));
	memcpy(bytes, record.event, size);
	return (ssize_t)size;
}
