/*
 * Doorbells. The kernel refuses one before RTS, and the provider hands that on to the caller of ibv_post_send. A queue
 * pair gets below RTS by the program's commands alone: so its first doorbell after such a command is a command that is
 * answered, and those after it are frames that nobody waits for.
 */
#include "shim.h"

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
