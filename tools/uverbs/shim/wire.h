/*
 * The wire between the shim and the server of verbs: frames over a Unix stream socket. This file and
 * src/node/uverbs/wire.ts say the same; a test compares them. Integers are little-endian.
 *
 * A frame is a header of 16 bytes and `length` bytes of body, MAX_BODY at most. The shim sends:
 *
 *   OPEN        kind u32                        opens a file; the answer is token 16 bytes, number u32, and comes with a
 *                                               descriptor of the shared file (SCM_RIGHTS), for FILE_UVERBS
 *   JOIN        token                           one more connection of a file: a child's, after fork
 *   CHANNEL     token, channel u32              makes this connection an event channel; records follow the answer
 *   COMMAND     what the program wrote          answered once, in any order
 *   DOORBELL    queue pair u32                  no answer
 *   EVENT_READ  channel u32, ordinal u32        the program has read an event; no answer
 *
 * OPEN, JOIN or CHANNEL is the first frame of a connection, and comes once. The server sends:
 *
 *   ANSWER      with the request's id and a number of errno in `error`; the body is the response
 *   CANCELLED   (channel u32, ordinal u32)...   events that must not be read any more; before the answer to the command
 *                                               that is the reason
 *
 * On a channel of uverbs it sends records: ordinal u32, length u32, the event in 24 bytes. On the channel of a file of
 * rdma_cm (number 0) it sends one byte for each event to be had.
 *
 * The file that the program maps begins with a page of the shim's: word 0 counts completions, word 16 those who wait
 * for one (futex). From word 32 on there is one for each handle below ARMED: of a completion queue the server sets
 * ARM_QUEUE, the shim adds ARM_SOLICITED or ARM_ANY, and the server takes these away with the event that they ask for.
 * Whoever does not keep to this is cut off.
 */
#ifndef ROCE_WIRE_H
#define ROCE_WIRE_H
#include <stdint.h>

#define WIRE_VERSION 3u
#define MAX_BODY 65536u
#define TOKEN_BYTES 16u
#define RECORD_BYTES 32u
#define PAGE_BYTES 4096u
#define ARMED 992u

enum { FRAME_OPEN = 1, FRAME_JOIN, FRAME_CHANNEL, FRAME_COMMAND, FRAME_DOORBELL, FRAME_EVENT_READ, FRAME_ANSWER,
       FRAME_CANCELLED };
enum { FILE_UVERBS = 1, FILE_RDMA_CM = 2 };
enum { ARM_SOLICITED = 1, ARM_ANY = 2, ARM_QUEUE = 4 };

struct frame {
	uint32_t length;
	uint16_t type;
	uint16_t version;
	uint32_t id;
	uint32_t error;
};

struct opened {
	uint8_t token[TOKEN_BYTES];
	uint32_t number;
};

struct record {
	uint32_t ordinal;
	uint32_t length;
	uint8_t event[24];
};

struct progress {
	_Atomic uint32_t completions;
	uint32_t unused[15];
	_Atomic uint32_t waiting;
	uint32_t unused_too[15];
	_Atomic uint32_t armed[ARMED];
};
#endif
