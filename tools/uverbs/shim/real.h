/* The functions of the C library that the shim stands in front of, found once. */
#ifndef ROCE_REAL_H
#define ROCE_REAL_H
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL_FUNCTIONS(R) \
	R(int, openat, (int, const char *, int, ...)) \
	R(FILE *, fopen, (const char *, const char *)) \
	R(DIR *, opendir, (const char *)) \
	R(int, access, (const char *, int)) \
	R(int, faccessat, (int, const char *, int, int)) \
	R(ssize_t, readlink, (const char *, char *, size_t)) \
	R(ssize_t, readlinkat, (int, const char *, char *, size_t)) \
	R(char *, realpath, (const char *, char *)) \
	R(int, fstatat, (int, const char *, struct stat *, int)) \
	R(int, statx, (int, const char *, int, unsigned int, struct statx *)) \
	R(int, close, (int)) \
	R(int, close_range, (unsigned int, unsigned int, int)) \
	R(int, dup, (int)) \
	R(int, dup3, (int, int, int)) \
	R(int, fcntl, (int, int, ...)) \
	R(ssize_t, read, (int, void *, size_t)) \
	R(ssize_t, readv, (int, const struct iovec *, int)) \
	R(ssize_t, write, (int, const void *, size_t)) \
	R(ssize_t, writev, (int, const struct iovec *, int)) \
	R(int, ioctl, (int, unsigned long, ...)) \
	R(int, socket, (int, int, int))

#define DECLARE(result, name, arguments) extern result(*real_##name) arguments;
REAL_FUNCTIONS(DECLARE)
#undef DECLARE

/* Before any use of the above: hooks run before the constructors of other libraries. */
void be_ready(void);
#endif
