/*
 * Programs that poll. One that spins on its completion queue takes the processor that the server and its peer need, so
 * after some polls in vain it sleeps until a completion is in some ring of its device, a millisecond at most. The call
 * is in the provider and reached through a table in struct ibv_context, whose layout is that of every program's inline
 * functions; it is replaced there when a device is opened. ROCE_UVERBS_POLL=spin leaves it alone.
 *
 * A ring says nothing of a server that is gone. Who has slept in vain looks for that, and the poll fails then.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include "shim.h"

enum { POLL_CQ = 11, CONTEXT_CALLS = 32, POLLS_IN_VAIN = 64, LONGEST_NS = 1000000 };

struct ibv_context {
	void *device;
	void *calls[CONTEXT_CALLS];
	int cmd_fd;
};

struct ibv_cq {
	struct ibv_context *context;
};

typedef int (*poll_call)(struct ibv_cq *, int, void *);
typedef struct ibv_context *(*open_call)(void *);

/* There is one provider, rxe's. */
static _Atomic poll_call provider_poll;
static __thread unsigned int in_vain;

/* False when the time is over and there was none. */
static bool sleep_until_another(struct progress *progress, uint32_t seen)
{
	const struct timespec longest = { .tv_nsec = LONGEST_NS };
	const int error = errno;
	atomic_fetch_add(&progress->waiting, 1);
	const long woken = syscall(SYS_futex, &progress->completions, FUTEX_WAIT, seen, &longest, NULL, 0);
	const bool over = woken != 0 && errno == ETIMEDOUT;
	atomic_fetch_sub(&progress->waiting, 1);
	errno = error;
	return !over;
}

static int poll_patiently(struct ibv_cq *cq, int count, void *completions)
{
	const poll_call poll = atomic_load_explicit(&provider_poll, memory_order_acquire);
	struct progress *progress = progress_of(cq->context->cmd_fd);
	if (progress == NULL)
		return poll(cq, count, completions);
	const uint32_t seen = atomic_load(&progress->completions);
	const int found = poll(cq, count, completions);
	if (found != 0)
		in_vain = 0;
	else if (++in_vain > POLLS_IN_VAIN && !sleep_until_another(progress, seen) && is_orphaned(cq->context->cmd_fd)) {
		/* What it has completed before its end is in the ring by now. */
		const int last = poll(cq, count, completions);
		if (last == 0)
			errno = EIO;
		return last == 0 ? -1 : last;
	}
	return found;
}

static open_call find_open(void)
{
	void *found = dlsym(RTLD_NEXT, "ibv_open_device");
	if (found == NULL) {
		/* Loaded by a library that was loaded by name, as languages and plug-ins do. */
		void *library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
		found = library == NULL ? NULL : dlsym(library, "ibv_open_device");
	}
	return (open_call)found;
}

struct ibv_context *ibv_open_device(void *device);
EXPORT struct ibv_context *ibv_open_device(void *device)
{
	const open_call open_it = find_open();
	if (open_it == NULL) {
		errno = ENOSYS;
		return NULL;
	}
	struct ibv_context *context = open_it(device);
	const char *how = getenv("ROCE_UVERBS_POLL");
	if (context == NULL || kind_of(context->cmd_fd) != KIND_UVERBS || (how != NULL && strcmp(how, "spin") == 0))
		return context;
	atomic_store_explicit(&provider_poll, (poll_call)context->calls[POLL_CQ], memory_order_release);
	context->calls[POLL_CQ] = (void *)poll_patiently;
	return context;
}
