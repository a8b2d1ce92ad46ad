/* What the parts of the shim share: see README.md of this directory. */
#ifndef ROCE_SHIM_H
#define ROCE_SHIM_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "wire.h"

#define EXPORT __attribute__((visibility("default")))

/* The functions of the C library behind those that the shim replaces. */
#include "real.h"

/* --- paths.c --- */
enum device { NO_DEVICE, DEVICE_UVERBS, DEVICE_RDMA_CM };
enum { PATH_ROOM = 4096 };
/* The socket's path, or NULL: then the shim does nothing. */
const char *server_path(void);
void read_environment(void);
enum device device_at(const char *path);
/* `path`, or where its contents are, in `room`. */
const char *redirected(const char *path, char room[PATH_ROOM]);
dev_t device_number(enum device which);

/* --- files.c --- */
enum kind { KIND_UVERBS = 1, KIND_RDMA_CM, KIND_COMPLETIONS, KIND_ASYNC };

struct waiter {
	struct waiter *next;
	uint32_t id;
	bool done;
	int error;
	uint32_t length;
	void *into;
	uint32_t room;
};

struct cancelled {
	uint32_t channel, ordinal;
};

struct event_read {
	struct frame head;
	uint32_t channel, ordinal;
};

enum { SENDING = 4096, READ_UNTOLD = 32 };

/* An open file. A channel has its file as `owner`, and no connection for commands. */
struct file {
	struct file *next;
	enum kind kind;
	int descriptors; /* Of the program's, and threads in a command: 0 closes. */
	int references;  /* These, and channels: 0 frees. */
	struct file *owner;
	uint32_t channel;
	uint32_t number;
	uint8_t token[TOKEN_BYTES];
	struct progress *progress;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	int connection; /* For commands; -1 when there is none any more. */
	int forking;    /* The child's, while a fork is under way. */
	bool reading;   /* A thread is receiving for all. */
	uint32_t next_id;
	struct waiter *waiters;
	_Atomic uint32_t sending[SENDING]; /* doorbells.c */
	int destroying; /* Commands under way that may cancel events. */
	int ready;      /* rdma_cm: events taken from the channel and not yet had. */
	struct cancelled *cancelled;
	size_t cancelled_count, cancelled_room;
	struct event_read untold[READ_UNTOLD]; /* Events read, of which the server is told before the next command. */
	size_t untold_count;
	uint8_t body[MAX_BODY];
};

/* Held by the caller, as from `hold`. */
struct file *new_file(enum kind kind);
struct file *new_channel(enum kind kind, struct file *owner, uint32_t channel);
/* The file behind a descriptor, held until `release`; NULL when it is none of ours. */
struct file *hold(int fd);
void release(struct file *file);
/* Makes `fd` one of the program's descriptors of `file`. False when `fd` is too large. */
bool enter(int fd, struct file *file);
/* Whether `fd` is a descriptor of ours that the program does not know. */
bool is_hidden(int fd);
/* Moves a descriptor to where programs seldom look, and hides it; -1 and errno when there is no room. */
int hide(int fd);
void close_hidden(int fd);
/* The program gives `fd` up: before it is closed. */
void leave(int fd);
/* close_range, but for descriptors that the program does not know. */
int close_descriptors(unsigned int first, unsigned int last, int flags);
/* 0 for none of ours. */
enum kind kind_of(int fd);
struct progress *progress_of(int fd);

/* --- connection.c --- */
int dial(void);
/* The first frame and its answer: 0 or a number of errno. `descriptor`, where not NULL, becomes what came with it, or -1. */
int say_hello(int fd, uint16_t type, const void *body, uint32_t length, void *answer, uint32_t room, int *descriptor);
/* A command and its answer: 0 or a number of errno. `answer->length` is how many bytes came. */
int call(struct file *file, const void *bytes, uint32_t length, struct waiter *answer);
/* A frame without an answer: 0 or a number of errno. */
int tell(struct file *file, uint16_t type, const void *body, uint32_t length);
void note_read_locked(struct file *file, uint32_t channel, uint32_t ordinal);
void tell_read_locked(struct file *file);
void fail_locked(struct file *file);
/* Whether the server of the device behind a descriptor is gone. */
bool is_orphaned(int fd);
bool take_cancelled(struct file *file, uint32_t channel, uint32_t ordinal);

/* --- doorbells.c --- */
/* Arms a completion queue by its word of the shared page; false where that takes a command. */
bool arm_queue(struct file *file, const void *command, size_t length);
/* Whether the server has taken sends of this queue pair since it was last changed. */
bool is_sending(struct file *file, uint32_t queue_pair);
void note_sending(struct file *file, uint32_t queue_pair);
void note_changed(struct file *file, uint32_t queue_pair);

/* --- device.c --- */
int open_device(enum device which, int flags);
ssize_t write_device(int fd, struct file *file, const void *bytes, size_t length);
ssize_t read_device(int fd, struct file *file, void *bytes, size_t length);

/* Whether this process shares its memory with its parent, between vfork and exec: then the parent's files are its. */
bool is_borrowed(void);
#endif
