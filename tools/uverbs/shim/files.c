/*
 * The table of descriptors: which of the program's are files of ours, and which are ours alone. A look at a descriptor
 * that is none of these costs one load.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include "shim.h"

enum { MOST_DESCRIPTORS = 1 << 20, FIRST_HIDDEN = 500 };

static _Atomic(struct file *) table[MOST_DESCRIPTORS];
/* Stands in the table for a descriptor that the program does not know. */
static struct file hidden;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct file *files;
/* None above it is in the table. */
static _Atomic int highest;
/* Which process the table is of. Read in children of vfork, where it is the parent's. */
static _Atomic pid_t owner_pid;

bool is_borrowed(void)
{
	return atomic_load(&owner_pid) != 0 && getpid() != atomic_load(&owner_pid);
}

static struct file *entry(int fd)
{
	return fd < 0 || fd >= MOST_DESCRIPTORS ? NULL : atomic_load_explicit(&table[fd], memory_order_acquire);
}

bool is_hidden(int fd)
{
	return entry(fd) == &hidden;
}

struct file *hold(int fd)
{
	if (entry(fd) == NULL || is_borrowed())
		return NULL;
	pthread_mutex_lock(&table_lock);
	struct file *file = entry(fd);
	if (file == &hidden)
		file = NULL;
	if (file != NULL) {
		file->descriptors++;
		file->references++;
	}
	pthread_mutex_unlock(&table_lock);
	return file;
}

static void forget(struct file *file)
{
	struct file **at = &files;
	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
}

/* With the table's lock. Returns what is to be freed once it is given back. */
static struct file *put_reference(struct file *file)
{
	if (--file->references > 0)
		return NULL;
	forget(file);
	return file;
}

static void close_connection(struct file *file)
{
	pthread_mutex_lock(&file->lock);
	tell_read_locked(file);
	const int connection = file->connection;
	file->connection = -1;
	pthread_mutex_unlock(&file->lock);
	close_hidden(connection);
}

static void destroy(struct file *file)
{
	if (file == NULL)
		return;
	if (file->progress != NULL)
		munmap(file->progress, PAGE_BYTES);
	pthread_mutex_destroy(&file->lock);
	pthread_cond_destroy(&file->changed);
	free(file->cancelled);
	free(file);
}

void release(struct file *file)
{
	pthread_mutex_lock(&table_lock);
	const bool last = --file->descriptors == 0;
	pthread_mutex_unlock(&table_lock);
	if (last)
		close_connection(file);
	pthread_mutex_lock(&table_lock);
	struct file *owner = file->owner;
	struct file *gone = put_reference(file);
	struct file *owner_gone = gone != NULL && owner != NULL ? put_reference(owner) : NULL;
	pthread_mutex_unlock(&table_lock);
	destroy(gone);
	destroy(owner_gone);
}

bool enter(int fd, struct file *file)
{
	if (fd < 0 || fd >= MOST_DESCRIPTORS)
		return false;
	pthread_mutex_lock(&table_lock);
	struct file *before = entry(fd);
	if (file != NULL) {
		file->descriptors++;
		file->references++;
	}
	if (file != NULL && fd > atomic_load(&highest))
		atomic_store(&highest, fd);
	atomic_store_explicit(&table[fd], file, memory_order_release);
	pthread_mutex_unlock(&table_lock);
	if (before != NULL && before != &hidden)
		release(before);
	return true;
}

static int hide_locked(int fd)
{
	int moved = real_fcntl(fd, F_DUPFD_CLOEXEC, FIRST_HIDDEN);
	if (moved < 0)
		moved = real_fcntl(fd, F_DUPFD_CLOEXEC, 3);
	const int error = errno;
	real_close(fd);
	if (moved >= MOST_DESCRIPTORS) {
		real_close(moved);
		moved = -1;
	}
	if (moved < 0)
		errno = error;
	else {
		if (moved > atomic_load(&highest))
			atomic_store(&highest, moved);
		atomic_store(&table[moved], &hidden);
	}
	return moved;
}

int hide(int fd)
{
	pthread_mutex_lock(&table_lock);
	const int moved = hide_locked(fd);
	const int error = errno;
	pthread_mutex_unlock(&table_lock);
	errno = error;
	return moved;
}

void leave(int fd)
{
	if (entry(fd) != NULL && !is_borrowed())
		enter(fd, NULL);
}

int close_descriptors(unsigned int first, unsigned int last, int flags)
{
	const unsigned int top = (unsigned int)atomic_load(&highest);
	unsigned int from = first;
	for (unsigned int fd = first; fd <= last && fd <= top; fd++) {
		if (!is_hidden((int)fd)) {
			leave((int)fd);
			continue;
		}
		if (fd > from && real_close_range(from, fd - 1, flags) != 0)
			return -1;
		from = fd + 1;
	}
	return from <= last ? real_close_range(from, last, flags) : 0;
}

void close_hidden(int fd)
{
	if (fd < 0)
		return;
	atomic_store(&table[fd], NULL);
	real_close(fd);
}

enum kind kind_of(int fd)
{
	struct file *file = hold(fd);
	if (file == NULL)
		return 0;
	const enum kind kind = file->kind;
	release(file);
	return kind;
}

/* For one who has the file open: no reference is taken, for it costs as much as what it is used for. */
struct progress *progress_of(int fd)
{
	struct file *file = entry(fd);
	return file == NULL || file == &hidden ? NULL : file->progress;
}

static void initialize_locks(struct file *file)
{
	pthread_mutex_init(&file->lock, NULL);
	pthread_cond_init(&file->changed, NULL);
}

/*
 * A child shares the files of its parent, by connections of its own, made before it is there: the server never sees
 * a moment without one. The child's pending events are the parent's too, as with the kernel.
 */
static void before_fork(void)
{
	pthread_mutex_lock(&table_lock);
	for (struct file *file = files; file != NULL; file = file->next) {
		file->forking = -1;
		const int fd = file->connection < 0 ? -1 : dial();
		if (fd >= 0 && say_hello(fd, FRAME_JOIN, file->token, TOKEN_BYTES, NULL, 0, NULL) == 0)
			file->forking = hide_locked(fd);
		else if (fd >= 0)
			real_close(fd);
		pthread_mutex_lock(&file->lock);
		tell_read_locked(file);
	}
}

static void in_parent(void)
{
	for (struct file *file = files; file != NULL; file = file->next) {
		pthread_mutex_unlock(&file->lock);
		close_hidden(file->forking);
	}
	pthread_mutex_unlock(&table_lock);
}

static void in_child(void)
{
	atomic_store(&owner_pid, getpid());
	pthread_mutex_init(&table_lock, NULL);
	for (struct file *file = files; file != NULL; file = file->next) {
		close_hidden(file->connection);
		file->connection = file->forking;
		initialize_locks(file);
		file->waiters = NULL;
		file->reading = false;
		file->destroying = 0;
	}
}

static void follow_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

struct file *new_file(enum kind kind)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct file *file = calloc(1, sizeof *file);
	if (file == NULL)
		return NULL;
	file->kind = kind;
	file->connection = -1;
	file->forking = -1;
	file->descriptors = 1;
	file->references = 1;
	initialize_locks(file);
	pthread_mutex_lock(&table_lock);
	if (atomic_load(&owner_pid) == 0)
		atomic_store(&owner_pid, getpid());
	file->next = files;
	files = file;
	pthread_mutex_unlock(&table_lock);
	pthread_once(&once, follow_forks);
	return file;
}

/* A channel of `owner`, which it keeps, but not open. */
struct file *new_channel(enum kind kind, struct file *owner, uint32_t channel)
{
	struct file *file = new_file(kind);
	if (file == NULL)
		return NULL;
	file->channel = channel;
	file->owner = owner;
	pthread_mutex_lock(&table_lock);
	owner->references++;
	pthread_mutex_unlock(&table_lock);
	return file;
}
