/*
 * Rings doorbells as the rxe provider does, sixteen in a row, of which the first may wake the server, and then waits
 * until it has read them all. Prints the median of what one costs the program, in nanoseconds. Argument: how many rows.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { IN_A_ROW = 16, QUERY_PORT = 2, POST_SEND = 28 };

static double now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static int by_value(const void *one, const void *other)
{
	const double a = *(const double *)one, b = *(const double *)other;
	return (a > b) - (a < b);
}

int main(int count, char **words)
{
	const int rows = count > 1 ? atoi(words[1]) : 1000;
	const uint32_t bell[] = { POST_SEND, 8, 0, 0, 1, 0, 0, 0 }, wait[] = { QUERY_PORT, 4, 0, 0 };
	double *costs = calloc((size_t)rows + 1, sizeof *costs);
	const int fd = open("/dev/infiniband/uverbs0", O_RDWR);
	/* The first is a command. */
	if (costs == NULL || rows < 1 || fd < 0 || write(fd, bell, sizeof bell) != sizeof bell)
		return 1;
	for (int row = 0; row < rows; row++) {
		const double began = now();
		for (int at = 0; at < IN_A_ROW; at++)
			if (write(fd, bell, sizeof bell) != sizeof bell)
				return 1;
		costs[row] = (now() - began) / IN_A_ROW;
		if (write(fd, wait, sizeof wait) != sizeof wait)
			return 1;
	}
	qsort(costs, (size_t)rows, sizeof *costs, by_value);
	printf("%.0f\n", costs[rows / 2]);
	return 0;
}
