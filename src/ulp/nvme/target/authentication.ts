/**
 * Authentication of one queue of a target: Authentication Send and Receive, and how long it may take.
 *
 * Owns the two commands, the deadlines, and when the queue has to go. What messages mean is the business of
 * `auth/controller-side.ts`. A queue whose host fails lives on for some seconds, so that the host reads why. Rules:
 * ref:nvmeof#5.
 */
import { ControllerSide, type ControllerTerms } from '../auth/controller-side.ts';
import {
  AUTH_MAX_BYTES,
  AUTHENTICATION,
  FABRICS_OPCODE,
  FabricsType,
  type NvmeCommand,
  NvmeStatus,
  SECP_NVME,
} from '../codec/index.ts';
import type { TargetTimers } from './controller.ts';
import { DONE, type Outcome, refused, type Task } from './task.ts';

/** What a queue's authentication tells. */
export interface AuthenticationWatcher {
  /** The host has proved itself, for the first time or again. */
  passed(): void;
  /** It has not: one of `AuthenticationFailure`, or 0 for a host that took too long. */
  failed(reason: number): void;
  /** The queue has to be closed now. */
  ended(): void;
}

export class QueueAuthentication {
  readonly #side: ControllerSide;
  readonly #timers: TargetTimers;
  readonly #watcher: AuthenticationWatcher;
  #cancel: () => void;
  /** A command is under way: the two come one after the other. */
  #busy = false;
  /** Negotiations that did not lead to an authentication. */
  #tries = 0;
  #failed = false;

  /** `terms` is asked at each negotiation, so that new secrets hold from the next one on. */
  constructor(terms: () => ControllerTerms | undefined, timers: TargetTimers, watcher: AuthenticationWatcher) {
    this.#side = new ControllerSide(terms);
    this.#timers = timers;
    this.#watcher = watcher;
    this.#cancel = timers.after(WITHIN_NS, () => this.#late());
  }

  /** Whether the host has proved itself. */
  get passed(): boolean {
    return this.#side.authenticated;
  }

  /** Bytes of data of Authentication Send or Receive, or a status as its complement. */
  dataLength(command: NvmeCommand): number {
    const { secp, spsp0, spsp1, length } = command.arguments(AUTHENTICATION);
    const known = secp === SECP_NVME && spsp0 === 1 && spsp1 === 1;
    return known && length > 0 && length <= AUTH_MAX_BYTES ? length : ~refused(NvmeStatus.InvalidField).status;
  }

  async execute({ command, data }: Task): Promise<Outcome> {
    if (this.#busy) return refused(NvmeStatus.CommandSequenceError);
    this.#busy = true;
    const { proofs } = this.#side;
    try {
      return command.fabricsType === FabricsType.AuthenticationSend ? await this.#take(data) : await this.#give(data);
    } finally {
      this.#busy = false;
      if (this.#side.proofs > proofs) this.#succeeded();
      else this.#look();
    }
  }

  /** The queue is gone. */
  close(): void {
    this.#cancel();
    this.#failed = true;
  }

  async #take(data: Uint8Array): Promise<Outcome> {
    await this.#side.take(data.slice());
    if (this.#side.step === 'challenge') this.#begun();
    return DONE;
  }

  async #give(data: Uint8Array): Promise<Outcome> {
    const message = await this.#side.give(data.length);
    if (message === undefined) return refused(NvmeStatus.InvalidField);
    data.fill(0);
    data.set(message);
    return DONE;
  }

  /** A negotiation costs an exponentiation: who has not proved itself gets a few of them. */
  #begun(): void {
    if (this.passed) this.#arm(WITHIN_NS, () => this.#side.forget());
    else if (++this.#tries > MAX_TRIES) this.#late();
  }

  #succeeded(): void {
    this.#cancel();
    this.#tries = 0;
    this.#watcher.passed();
  }

  #late(): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#watcher.failed(0);
    this.#watcher.ended();
  }

  /** After each command: a host that has failed is told why, and has to go. */
  #look(): void {
    if (this.#failed || (this.#side.step !== 'failed' && this.#side.step !== 'failure1')) return;
    this.#failed = true;
    this.#watcher.failed(this.#side.failure);
    this.#arm(CLOSE_AFTER_NS, () => this.#watcher.ended());
  }

  #arm(durationNs: number, then: () => void): void {
    this.#cancel();
    this.#cancel = this.#timers.after(durationNs, then);
  }
}

/** Authentication Send or Receive. */
export function isAuthentication({ opcode, fabricsType }: NvmeCommand): boolean {
  return (
    opcode === FABRICS_OPCODE &&
    (fabricsType === FabricsType.AuthenticationSend || fabricsType === FabricsType.AuthenticationReceive)
  );
}

/**
 * From Connect to the end of the authentication, and from its repetition to the end of that. 8192 bits cost an emulated
 * guest 15 s.
 */
const WITHIN_NS = 60e9;
/** From a failure to the end of the queue. */
const CLOSE_AFTER_NS = 5e9;
/** Negotiations of a host that does not prove itself. */
const MAX_TRIES = 4;
