/* Finds the functions behind the shim's, prepares it once in each process, and follows forks. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include "shim.h"

#define DEFINE(result, name, arguments) result(*real_##name) arguments;
REAL_FUNCTIONS(DEFINE)
#undef DEFINE

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic bool is_ready;

static void find_all(void)
{
#define FIND(result, name, arguments) real_##name = (result(*) arguments)dlsym(RTLD_NEXT, #name);
	REAL_FUNCTIONS(FIND)
#undef FIND
	read_environment();
	atomic_store_explicit(&is_ready, true, memory_order_release);
}

void be_ready(void)
{
	if (!atomic_load_explicit(&is_ready, memory_order_acquire))
		pthread_once(&once, find_all);
}

/* The program would find no device, and could not say why. */
static void complain_of_rights(void)
{
	const char *path = server_path();
	if (path != NULL && real_faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 && errno == EACCES)
		dprintf(STDERR_FILENO, "roce: the device at %s is another user's: uid %d may not use it\n", path, (int)geteuid());
}

__attribute__((constructor)) static void start(void)
{
	const int before = errno;
	be_ready();
	complain_of_rights();
	errno = before;
}
