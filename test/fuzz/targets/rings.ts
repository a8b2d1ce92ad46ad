/**
 * The rings of shared memory between application and worker, with whatever the other side writes into them: positions,
 * sizes, counts, keys. An input is the end of the ring 1 (0: posts; 1: completions, read; 2: completions, written) |
 * four words | what lies in the ring. Reading ends, and in nothing worse than an `InvariantError`.
 */
import { InvariantError } from '../../../packets/index.ts';
import {
  CompletionReader,
  CompletionWriter,
  completionRingMemory,
  NotifyMode,
} from '../../../src/node/worker/completion-ring.ts';
import { makeControl, Word } from '../../../src/node/worker/control.ts';
import { PostReader, type PostSink, PostWriter } from '../../../src/node/worker/post-ring.ts';
import { AddressHandle } from '../../../transport/address-handle.ts';
import { MemoryRegion, ProtectionDomain } from '../../../transport/memory.ts';
import { type RecvWr, type SendWr, WorkCompletion, WrOpcode } from '../../../transport/work.ts';
import { type FuzzTarget, promise } from '../engine/target.ts';

const REGION = new MemoryRegion(new ProtectionDomain(1), new Uint8Array(1000), 256, { access: 0, iova: 0n });
const HANDLE = new AddressHandle(new ProtectionDomain(1), undefined);
const NAMES = { keyOf: () => REGION.rkey, ahOf: () => 1 };
const HEADER_BYTES = 17;
const CAPACITY = 8;
/** One for all inputs: what an input does not write is zero again after it. */
const CONTROL = makeControl();
const CELLS = CONTROL.posts.byteLength / 8;

class Counting implements PostSink {
  requests = 0;

  send(_qp: number, { sges = [], inline }: SendWr): void {
    this.#take(sges.length, inline?.length ?? 0);
  }

  recv(_qp: number, { sges = [] }: RecvWr): void {
    this.#take(sges.length, 0);
  }

  srqRecv(_srqn: number, { sges = [] }: RecvWr): void {
    this.#take(sges.length, 0);
  }

  region(): MemoryRegion {
    return REGION;
  }

  ah(): AddressHandle {
    return HANDLE;
  }

  #take(sges: number, inline: number): void {
    this.requests += 1;
    promise(this.requests <= CELLS, 'a ring holds no more requests than cells');
    promise(sges * 3 + inline / 8 <= CELLS, 'a request lies in the ring');
  }
}

function run(input: Uint8Array): string {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  const word = (index: number): number => (input.length >= HEADER_BYTES ? view.getInt32(1 + index * 4) : 0);
  const bytes = input.slice(HEADER_BYTES);
  try {
    const kind = (input[0] ?? 0) % 3;
    return kind === 0 ? posts(word, bytes) : kind === 1 ? completions(word, bytes) : written(word);
  } catch (error) {
    if (error instanceof InvariantError) return error.message.slice(0, 60);
    throw error;
  }
}

/** Cells as they are, the tail where `word(0)` says; then as many honest requests as `word(1)` says. */
function posts(word: (index: number) => number, bytes: Uint8Array): string {
  const words = new Int32Array(CONTROL.words);
  const memory = new Uint8Array(CONTROL.posts);
  words.fill(0);
  memory.set(bytes.subarray(0, memory.length));
  try {
    const reader = new PostReader(CONTROL);
    const sink = new Counting();
    Atomics.store(words, Word.PostTail, word(0));
    reader.drain(sink);
    const writer = new PostWriter(CONTROL);
    Atomics.store(words, Word.PostHead, word(2));
    const wr = { wrId: 1, opcode: WrOpcode.Send, inline: new Uint8Array(word(1) & 0xff) };
    const taken = writer.send(1, wr, NAMES);
    return `${Math.min(sink.requests, 3)} requests, a post ${taken ? 'fits' : 'does not fit'}`;
  } finally {
    memory.fill(0, 0, bytes.length + 512);
  }
}

/** What the application reads of a queue whose words and entries are any. */
function completions(word: (index: number) => number, bytes: Uint8Array): string {
  const memory = completionRingMemory(CAPACITY);
  new Uint8Array(memory).set(bytes.subarray(0, memory.byteLength));
  const words = new Int32Array(memory);
  for (let index = 0; index < 4; index++) Atomics.store(words, index, word(index));
  const reader = new CompletionReader(CAPACITY, memory);
  const wc = new WorkCompletion();
  let polled = 0;
  while (reader.poll(wc)) promise(++polled <= CAPACITY, 'a queue gives no more than its capacity');
  reader.want(NotifyMode.Any);
  reader.count(true);
  return `${polled} completions, ${reader.overrun ? 'overrun' : 'no overrun'}`;
}

/** What the worker does when the position of the application is any. */
function written(word: (index: number) => number): string {
  const memory = completionRingMemory(CAPACITY);
  const words = new Int32Array(memory);
  const writer = new CompletionWriter(CAPACITY, memory);
  const wc = new WorkCompletion();
  for (let i = 0; i < (word(0) & 7); i++) writer.write(wc);
  writer.publish(false);
  Atomics.store(words, 1, word(1));
  const wasFull = writer.full;
  writer.moveTo(16, completionRingMemory(16));
  return wasFull ? 'a full queue moves' : 'a queue moves';
}

/** What the writer makes of honest requests, with the tail where it belongs. */
function seeds(): Uint8Array[] {
  const made = [1, 3].map((count) => {
    const control = makeControl();
    const writer = new PostWriter(control);
    const sges = [{ mr: REGION, length: 10 }];
    for (let wrId = 0; wrId < count; wrId++) {
      writer.send(1, { wrId, opcode: WrOpcode.RdmaWrite, sges, inline: new Uint8Array(20), ah: HANDLE }, NAMES);
      writer.recv(2, { wrId, sges }, NAMES);
      writer.srqRecv(3, { wrId, sges: [] }, NAMES);
    }
    const tail = Atomics.load(new Int32Array(control.words), Word.PostTail);
    return headed(0, [tail, 9, 0, 0], new Uint8Array(control.posts).slice(0, tail * 8));
  });
  return [
    ...made,
    headed(1, [3, 0, 0, 0], new Uint8Array(300)),
    headed(1, [0, 0, 1, 1], new Uint8Array(0)),
    headed(2, [3, 1, 0, 0], new Uint8Array(0)),
    headed(2, [7, 7, 0, 0], new Uint8Array(0)),
  ];
}

function headed(kind: number, words: readonly number[], bytes: Uint8Array): Uint8Array {
  const input = new Uint8Array(HEADER_BYTES + bytes.length);
  const view = new DataView(input.buffer);
  input[0] = kind;
  for (const [index, word] of words.entries()) view.setInt32(1 + index * 4, word);
  input.set(bytes, HEADER_BYTES);
  return input;
}

export const target: FuzzTarget = { name: 'rings', maxBytes: 1500, maxSteps: 200_000, seeds, run };
