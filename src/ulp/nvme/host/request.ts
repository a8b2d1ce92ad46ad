/**
 * One command from the time it is wanted until it is answered, over as many connections as that takes.
 *
 * Owns what has to be kept so that the command can be sent once more: its dwords and its data, which is the caller's
 * memory. Never knows a queue.
 */
import { NvmeCommand, NvmeCompletion } from '../codec/index.ts';

/** Which way the data of a command goes. */
export type DataDirection = 'none' | 'read' | 'write';

/** A command with its data, and its answer. */
export class HostRequest {
  /** The command; identifier and SGL are those of the queue that sends it. */
  readonly command = new NvmeCommand();
  /** The answer, once there is one. */
  readonly completion = new NvmeCompletion();
  /** The caller's memory: sent, or filled. */
  data: Uint8Array | undefined = undefined;
  direction: DataDirection = 'none';
  /**
   * Whether it may be sent again on a new connection when no answer came: what it does twice is what it does once.
   */
  replayable = false;
  /** Whether it is answered only when something happens: an event request is never overdue. */
  held = false;
  /** Its place in the order of all commands of the controller. */
  order = 0;
  /** When it was sent, in ticks of the controller that watches it; -1 while it is not. */
  sentTick = -1;
  readonly done: Promise<void>;
  #resolve: () => void = nothing;
  #reject: (reason: Error) => void = nothing;

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** The answer has come, whatever it is. */
  answered(): void {
    this.#resolve();
  }

  /** No answer will come. */
  fail(reason: Error): void {
    this.#reject(reason);
  }
}

function nothing(): void {}
