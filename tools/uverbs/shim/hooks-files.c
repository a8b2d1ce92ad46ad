/* The calls on descriptors that stand in front of the C library's: close, dup, fcntl, read, write, ioctl, socket. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include "shim.h"

EXPORT int close(int fd)
{
	be_ready();
	if (is_hidden(fd) && !is_borrowed()) {
		errno = EBADF;
		return -1;
	}
	leave(fd);
	return real_close(fd);
}

EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	be_ready();
	if (is_borrowed() || (flags & CLOSE_RANGE_CLOEXEC) != 0)
		return real_close_range(first, last, flags);
	return close_descriptors(first, last, flags);
}

EXPORT void closefrom(int first)
{
	close_range(first < 0 ? 0 : (unsigned int)first, ~0u, 0);
}

/* `made` is one more descriptor of what `fd` is. */
static int share(int fd, int made)
{
	if (made < 0)
		return made;
	struct file *file = hold(fd);
	if (file == NULL) {
		leave(made);
		return made;
	}
	const bool entered = enter(made, file);
	release(file);
	if (entered)
		return made;
	real_close(made);
	errno = EMFILE;
	return -1;
}

EXPORT int dup(int fd)
{
	be_ready();
	return share(fd, real_dup(fd));
}

EXPORT int dup3(int fd, int onto, int flags)
{
	be_ready();
	if (is_hidden(onto) && !is_borrowed()) {
		errno = EBUSY;
		return -1;
	}
	return share(fd, real_dup3(fd, onto, flags));
}

EXPORT int dup2(int fd, int onto)
{
	be_ready();
	if (fd == onto)
		return real_fcntl(fd, F_GETFD) < 0 ? -1 : onto;
	return dup3(fd, onto, 0);
}

static int control(int fd, int command, void *argument)
{
	be_ready();
	const int made = real_fcntl(fd, command, argument);
	return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? share(fd, made) : made;
}

#define FCNTL(name) \
	EXPORT int name(int fd, int command, ...) \
	{ \
		va_list list; \
		va_start(list, command); \
		void *argument = va_arg(list, void *); \
		va_end(list); \
		return control(fd, command, argument); \
	}
FCNTL(fcntl)
FCNTL(fcntl64)

/* errno of a close after the call is not the call's. */
static ssize_t done(struct file *file, ssize_t value)
{
	const int error = errno;
	release(file);
	errno = error;
	return value;
}

EXPORT ssize_t write(int fd, const void *bytes, size_t length)
{
	be_ready();
	struct file *file = hold(fd);
	return file == NULL ? real_write(fd, bytes, length) : done(file, write_device(fd, file, bytes, length));
}

EXPORT ssize_t read(int fd, void *bytes, size_t length)
{
	be_ready();
	struct file *file = hold(fd);
	if (file == NULL)
		return real_read(fd, bytes, length);
	ssize_t value;
	/* pthread_cancel ends a thread that waits for an event. */
	pthread_cleanup_push((void (*)(void *))release, file);
	value = read_device(fd, file, bytes, length);
	pthread_cleanup_pop(0);
	return done(file, value);
}

ssize_t __read_chk(int fd, void *bytes, size_t length, size_t room);
EXPORT ssize_t __read_chk(int fd, void *bytes, size_t length, size_t room)
{
	if (length > room)
		abort();
	return read(fd, bytes, length);
}

/* As the kernel does for files that have no calls of their own for it: one after the other. */
EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	be_ready();
	if (kind_of(fd) == 0)
		return real_writev(fd, parts, count);
	ssize_t total = 0;
	for (int at = 0; at < count; at++) {
		const ssize_t wrote = write(fd, parts[at].iov_base, parts[at].iov_len);
		if (wrote < 0)
			return total > 0 ? total : -1;
		total += wrote;
	}
	return total;
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
	be_ready();
	if (kind_of(fd) == 0)
		return real_readv(fd, parts, count);
	return count < 1 ? 0 : read(fd, parts[0].iov_base, parts[0].iov_len);
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	va_start(list, request);
	void *argument = va_arg(list, void *);
	va_end(list);
	be_ready();
	/* The newer commands of uverbs: without them libibverbs takes write(). What is true of all files stays. */
	const bool general = request == FIONBIO || request == FIOCLEX || request == FIONCLEX || request == FIOASYNC;
	if (!general && kind_of(fd) != 0) {
		errno = ENOTTY;
		return -1;
	}
	return real_ioctl(fd, request, argument);
}

/* Where the kernel has RDMA, it would speak of its own devices here. */
EXPORT int socket(int domain, int type, int protocol)
{
	be_ready();
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA && server_path() != NULL) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return real_socket(domain, type, protocol);
}
