/**
 * What a queue sends: READs of the host's data, WRITEs of data for it, and responses.
 *
 * Owns the room in the send queue and the order of posting. Answers that are ready at the same time leave together:
 * first their WRITEs, then their responses, so that packets of one size follow each other, which a link may hand over
 * as one (ref:platform#3). A response never overtakes the WRITE of its data. Lent memory comes back when a response
 * behind it is acknowledged. Never knows what a command means.
 */
import { WrOpcode } from '../../../../transport/work.ts';
import type { RdmaQp } from '../../../device/api.ts';
import { COMPLETION_BYTES, writeCompletion } from '../codec/index.ts';
import type { DataMemory } from './data-memory.ts';
import type { Task } from './task.ts';

/** What becomes of a command. */
export interface Answer {
  readonly task: Task;
  readonly status: number;
  readonly dw0: number;
  readonly dw1: number;
  /** Data for the host, from the beginning of `memory`; 0 for none. */
  readonly bytes: number;
  /** Memory that was lent for the command, with or without data for the host. */
  readonly memory: DataMemory | undefined;
  /** Its identifier is that of another command, which is still under way. */
  readonly conflict: boolean;
}

/** What sending needs of its queue. */
export interface AnswerQueue {
  readonly qp: RdmaQp;
  /** The answer leaves now: its receive may be posted again. Returns the head pointer for the response. */
  leaves(answer: Answer): number;
}

/** Responses with one signal: how much of the send queue they free, and the memory that comes back. */
interface Signaled {
  requests: number;
  readonly memories: DataMemory[];
}

export class AnswerSender {
  readonly #queue: AnswerQueue;
  #room: number;
  /** READs that wait for room, in order. */
  readonly #reads: Task[] = [];
  /** Answers that were not posted yet, in order. */
  #ready: Answer[] = [];
  /** Posted up to a signaled response, oldest first. */
  readonly #posted: Signaled[] = [];
  readonly #response = new Uint8Array(COMPLETION_BYTES);
  readonly #responseView = new DataView(this.#response.buffer);

  /** @param room work requests that the send queue takes, at least `ROOM_OF_ANSWER` */
  constructor(queue: AnswerQueue, room: number) {
    this.#queue = queue;
    this.#room = room;
  }

  /** Fetches the data of a command into its memory, now or when there is room. */
  read(task: Task): void {
    this.#reads.push(task);
    this.#postReads();
  }

  /** A READ has ended. */
  readEnded(): void {
    this.#room += 1;
  }

  /** Takes an answer; it leaves with the next `flush`. */
  add(answer: Answer): void {
    this.#ready.push(answer);
  }

  /** A signaled response was acknowledged, and so is everything before it. */
  acknowledged(): void {
    const signaled = this.#posted.shift();
    if (signaled === undefined) return;
    this.#room += signaled.requests;
    for (const memory of signaled.memories) memory.giveBack();
  }

  /** Posts what there is and for which there is room. */
  flush(): void {
    this.#postReads();
    while (this.#ready.length > 0 && this.#room >= ROOM_OF_ANSWER) this.#post(this.#ready.splice(0, this.#batch()));
  }

  /** The queue pair is gone: all memory comes back, and nothing is sent any more. */
  close(): void {
    this.#reads.length = 0;
    const posted = this.#posted.splice(0).flatMap(({ memories }) => memories);
    const ready = this.#ready.splice(0).map(({ memory }) => memory);
    for (const memory of [...posted, ...ready]) memory?.giveBack();
  }

  #postReads(): void {
    while (this.#reads.length > 0 && this.#room >= ROOM_OF_ANSWER) {
      const { slot, command, memory, data } = this.#reads.shift() as Task;
      if (memory === undefined) continue;
      this.#room -= 1;
      this.#queue.qp.postSend({
        wrId: slot,
        opcode: WrOpcode.RdmaRead,
        sges: [{ mr: memory.region, offset: memory.offset, length: data.length }],
        remoteAddr: command.sgl.address,
        rkey: command.sgl.key,
      });
    }
  }

  /** How many of the answers that are ready leave together: a large one waits for no other. */
  #batch(): number {
    let bytes = 0;
    let room = this.#room;
    let count = 0;
    for (const answer of this.#ready) {
      bytes += answer.bytes;
      room -= ROOM_OF_ANSWER;
      if (count > 0 && (bytes > BATCH_BYTES || room < 0)) break;
      count++;
    }
    return count;
  }

  #post(answers: readonly Answer[]): void {
    const { qp } = this.#queue;
    for (const { bytes, memory, task } of answers) {
      if (bytes === 0 || memory === undefined) continue;
      const { address, key } = task.command.sgl;
      qp.postSend({
        wrId: 0,
        opcode: WrOpcode.RdmaWrite,
        sges: [{ mr: memory.region, offset: memory.offset, length: bytes }],
        remoteAddr: address,
        rkey: key,
        signaled: false,
      });
    }
    const signaled: Signaled = { requests: 0, memories: [] };
    for (const answer of answers) {
      signaled.requests += answer.bytes > 0 ? 2 : 1;
      if (answer.memory !== undefined) signaled.memories.push(answer.memory);
    }
    this.#room -= signaled.requests;
    this.#posted.push(signaled);
    for (let i = 0; i < answers.length; i++) this.#respond(answers[i] as Answer, i === answers.length - 1);
  }

  #respond(answer: Answer, signaled: boolean): void {
    const { task, status, dw0, dw1 } = answer;
    const { cid, sgl } = task.command;
    const { key, invalidates } = sgl;
    // The receive is posted again by this, and the command of the task may be another from then on.
    const head = this.#queue.leaves(answer);
    writeCompletion(this.#responseView, 0, cid, status, head, dw0, dw1);
    this.#queue.qp.postSend({
      wrId: 0,
      opcode: invalidates ? WrOpcode.SendWithInv : WrOpcode.Send,
      inline: this.#response,
      signaled,
      ...(invalidates ? { invalidateRkey: key } : {}),
    });
  }
}

/** What the answer to one command posts at most. */
const ROOM_OF_ANSWER = 2;
/** Data of answers that leave together: as many packets as a link hands over as one. */
const BATCH_BYTES = 15 * 4096;
