/* Finds the functions behind the shim's, prepares it once in each process, and follows forks. */
#include <dlfcn.h>
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

__attribute__((constructor)) static void start(void)
{
	be_ready();
}
