/*
 * What programs do for each message without waiting for an answer.
 *
 * Doorbells. The kernel refuses one before RTS, and the provider hands that on to the caller of ibv_post_send. A queue
 * pair gets below RTS by the program's commands alone: so its first doorbell after such a command is a command that is
 * answered, and those after it are frames that nobody waits for.
 *
 * Arming. A program that waits for events arms its queue after each, and a command for that would be two wake-ups of
 * processes for each message. So it adds a flag to a word that the server looks at after it has put a completion into
 * the ring: of two who first write and then read, one at least sees the other.
 */
#include <string.h>
#include "shim.h"

/* Of include/uapi/rdma/ib_user_verbs.h: struct ib_uverbs_req_notify_cq, behind its header. */
struct notify_command {
	uint32_t command;
	uint16_t in_words, out_words;
	uint32_t queue, solicited_only;
};

bool arm_queue(struct file *file, const void *bytes, size_t length)
{
	struct notify_command command;
	if (length != sizeof command || file->progress == NULL)
		return false;
	memcpy(&command, bytes, sizeof command);
	if (command.in_words * 4 != sizeof command || command.queue >= ARMED)
		return false;
	_Atomic uint32_t *word = &file->progress->armed[command.queue];
	/* Another handle, or one that is gone: the server knows the error. */
	if ((atomic_load(word) & ARM_QUEUE) == 0)
		return false;
	atomic_fetch_or(word, command.solicited_only ? ARM_SOLICITED : ARM_ANY);
	return true;
}

/* One place for many handles, which begin at 1: whoever has lost it to another is answered once more. */
static _Atomic uint32_t *place_of(struct file *file, uint32_t queue_pair)
{
	return &file->sending[queue_pair % SENDING];
}

bool is_sending(struct file *file, uint32_t queue_pair)
{
	return atomic_load_explicit(place_of(file, queue_pair), memory_order_relaxed) == queue_pair;
}

void note_sending(struct file *file, uint32_t queue_pair)
{
	atomic_store_explicit(place_of(file, queue_pair), queue_pair, memory_order_relaxed);
}

void note_changed(struct file *file, uint32_t queue_pair)
{
	uint32_t was = queue_pair;
	atomic_compare_exchange_strong(place_of(file, queue_pair), &was, 0);
}
