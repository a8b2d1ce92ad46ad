/* The calls on paths that stand in front of the C library's: open, stat, access, readlink and their kin. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/sysmacros.h>
#include "shim.h"

static int open_at(int directory, const char *path, int flags, mode_t mode)
{
	char room[PATH_ROOM];
	be_ready();
	const enum device which = device_at(path);
	if (which != NO_DEVICE)
		return open_device(which, flags);
	return real_openat(directory, redirected(path, room), flags, mode);
}

#define MODE(flags) \
	mode_t mode = 0; \
	if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) { \
		va_list list; \
		va_start(list, flags); \
		mode = va_arg(list, mode_t); \
		va_end(list); \
	}

#define OPEN(name) \
	EXPORT int name(const char *path, int flags, ...) \
	{ \
		MODE(flags) \
		return open_at(AT_FDCWD, path, flags, mode); \
	}
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
	EXPORT int name(int directory, const char *path, int flags, ...) \
	{ \
		MODE(flags) \
		return open_at(directory, path, flags, mode); \
	}
OPENAT(openat)
OPENAT(openat64)

/* Those that programs call which were compiled with _FORTIFY_SOURCE. */
#define FORTIFIED_OPEN(name) \
	int name(const char *path, int flags); \
	EXPORT int name(const char *path, int flags) \
	{ \
		return open_at(AT_FDCWD, path, flags, 0); \
	}
FORTIFIED_OPEN(__open_2)
FORTIFIED_OPEN(__open64_2)

#define FORTIFIED_OPENAT(name) \
	int name(int directory, const char *path, int flags); \
	EXPORT int name(int directory, const char *path, int flags) \
	{ \
		return open_at(directory, path, flags, 0); \
	}
FORTIFIED_OPENAT(__openat_2)
FORTIFIED_OPENAT(__openat64_2)

#define FOPEN(name) \
	EXPORT FILE *name(const char *path, const char *mode) \
	{ \
		char room[PATH_ROOM]; \
		be_ready(); \
		return real_fopen(redirected(path, room), mode); \
	}
FOPEN(fopen)
FOPEN(fopen64)

EXPORT DIR *opendir(const char *path)
{
	char room[PATH_ROOM];
	be_ready();
	return real_opendir(redirected(path, room));
}

static enum device device_of(int fd)
{
	const enum kind kind = kind_of(fd);
	return kind == KIND_UVERBS ? DEVICE_UVERBS : kind == KIND_RDMA_CM ? DEVICE_RDMA_CM : NO_DEVICE;
}

/* What `path` is, or `directory` itself where it is empty. */
static enum device device_named(int directory, const char *path, int flags)
{
	if (path == NULL || (path[0] == '\0' && (flags & AT_EMPTY_PATH) != 0))
		return device_of(directory);
	return device_at(path);
}

static int describe(enum device which, struct stat *into)
{
	memset(into, 0, sizeof *into);
	into->st_mode = S_IFCHR | 0666;
	into->st_nlink = 1;
	into->st_blksize = PAGE_BYTES;
	into->st_rdev = device_number(which);
	return 0;
}

static int stat_at(int directory, const char *path, struct stat *into, int flags)
{
	char room[PATH_ROOM];
	be_ready();
	const enum device which = device_named(directory, path, flags);
	return which != NO_DEVICE ? describe(which, into) : real_fstatat(directory, redirected(path, room), into, flags);
}

/* Two names for one layout, on machines of 64 bits. */
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "struct stat has 64-bit fields");

#define STAT(suffix) \
	EXPORT int stat##suffix(const char *path, struct stat##suffix *into) \
	{ \
		return stat_at(AT_FDCWD, path, (struct stat *)into, 0); \
	} \
	EXPORT int lstat##suffix(const char *path, struct stat##suffix *into) \
	{ \
		return stat_at(AT_FDCWD, path, (struct stat *)into, AT_SYMLINK_NOFOLLOW); \
	} \
	EXPORT int fstat##suffix(int fd, struct stat##suffix *into) \
	{ \
		return stat_at(fd, "", (struct stat *)into, AT_EMPTY_PATH); \
	} \
	EXPORT int fstatat##suffix(int directory, const char *path, struct stat##suffix *into, int flags) \
	{ \
		return stat_at(directory, path, (struct stat *)into, flags); \
	}
STAT()
STAT(64)

/* Those of programs that were linked with a C library before 2.33. */
#define OLD_STAT(suffix) \
	int __xstat##suffix(int version, const char *path, struct stat##suffix *into); \
	EXPORT int __xstat##suffix(int version, const char *path, struct stat##suffix *into) \
	{ \
		(void)version; \
		return stat_at(AT_FDCWD, path, (struct stat *)into, 0); \
	} \
	int __lxstat##suffix(int version, const char *path, struct stat##suffix *into); \
	EXPORT int __lxstat##suffix(int version, const char *path, struct stat##suffix *into) \
	{ \
		(void)version; \
		return stat_at(AT_FDCWD, path, (struct stat *)into, AT_SYMLINK_NOFOLLOW); \
	} \
	int __fxstat##suffix(int version, int fd, struct stat##suffix *into); \
	EXPORT int __fxstat##suffix(int version, int fd, struct stat##suffix *into) \
	{ \
		(void)version; \
		return stat_at(fd, "", (struct stat *)into, AT_EMPTY_PATH); \
	} \
	int __fxstatat##suffix(int version, int directory, const char *path, struct stat##suffix *into, int flags); \
	EXPORT int __fxstatat##suffix(int version, int directory, const char *path, struct stat##suffix *into, int flags) \
	{ \
		(void)version; \
		return stat_at(directory, path, (struct stat *)into, flags); \
	}
OLD_STAT()
OLD_STAT(64)

EXPORT int statx(int directory, const char *path, int flags, unsigned int mask, struct statx *into)
{
	char room[PATH_ROOM];
	be_ready();
	const enum device which = device_named(directory, path, flags);
	if (which == NO_DEVICE)
		return real_statx(directory, redirected(path, room), flags, mask, into);
	memset(into, 0, sizeof *into);
	into->stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK;
	into->stx_mode = S_IFCHR | 0666;
	into->stx_nlink = 1;
	into->stx_blksize = PAGE_BYTES;
	into->stx_rdev_major = major(device_number(which));
	into->stx_rdev_minor = minor(device_number(which));
	return 0;
}

/* Anyone may read and write them, and nobody run them. */
static int admit(int mode)
{
	if ((mode & X_OK) == 0)
		return 0;
	errno = EACCES;
	return -1;
}

EXPORT int access(const char *path, int mode)
{
	char room[PATH_ROOM];
	be_ready();
	return device_at(path) != NO_DEVICE ? admit(mode) : real_access(redirected(path, room), mode);
}

EXPORT int faccessat(int directory, const char *path, int mode, int flags)
{
	char room[PATH_ROOM];
	be_ready();
	if (device_at(path) != NO_DEVICE)
		return admit(mode);
	return real_faccessat(directory, redirected(path, room), mode, flags);
}

EXPORT ssize_t readlink(const char *path, char *into, size_t length)
{
	char room[PATH_ROOM];
	be_ready();
	return real_readlink(redirected(path, room), into, length);
}

EXPORT ssize_t readlinkat(int directory, const char *path, char *into, size_t length)
{
	char room[PATH_ROOM];
	be_ready();
	return real_readlinkat(directory, redirected(path, room), into, length);
}

ssize_t __readlink_chk(const char *path, char *into, size_t length, size_t room);
EXPORT ssize_t __readlink_chk(const char *path, char *into, size_t length, size_t room)
{
	if (length > room)
		abort();
	return readlink(path, into, length);
}

EXPORT char *realpath(const char *path, char *into)
{
	char room[PATH_ROOM];
	be_ready();
	if (device_at(path) != NO_DEVICE)
		return into == NULL ? strdup(path) : strcpy(into, path);
	return real_realpath(redirected(path, room), into);
}

char *__realpath_chk(const char *path, char *into, size_t room);
EXPORT char *__realpath_chk(const char *path, char *into, size_t room)
{
	if (room < PATH_ROOM)
		abort();
	return realpath(path, into);
}
