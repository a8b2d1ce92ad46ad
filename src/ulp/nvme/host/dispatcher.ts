/**
 * The I/O commands of a controller, over as many associations as it takes: which queue sends which command, and what
 * becomes of those without an answer when the connection is lost.
 *
 * Owns their order. Commands go to the queue with most room, first come first sent. After a loss those without answer
 * wait, in the order in which they were sent, before all that came later, and are sent again on the next association;
 * one that may not be sent twice fails. NVMe itself promises no order between commands that are outstanding at the same
 * time: who needs one waits for the first before sending the second.
 */
import { RoceError } from '../../../../packets/errors.ts';
import type { Association } from './association.ts';
import type { HostQueue } from './queue.ts';
import type { HostRequest } from './request.ts';

export class Dispatcher {
  /** Commands sent again after a loss. */
  replayed = 0;
  readonly #waiting: HostRequest[] = [];
  #first = 0;
  #order = 0;
  #association: Association | undefined;
  #closed: Error | undefined;

  /** Commands that wait for a queue. */
  get waiting(): number {
    return this.#waiting.length - this.#first;
  }

  /** Sends it, or keeps it until there is room. */
  submit(request: HostRequest): void {
    if (this.#closed !== undefined) {
      request.fail(this.#closed);
      return;
    }
    request.order = this.#order++;
    const queue = this.waiting === 0 ? this.#roomiest() : undefined;
    if (queue === undefined) this.#waiting.push(request);
    else this.#send(queue, request);
  }

  /** A new association: everything that waits is sent. */
  begin(association: Association): void {
    this.#association = association;
    this.#pump();
  }

  /** The queue has room. One of an association that has yet to begin gets nothing: its disks may be others. */
  slotFreed(queue: HostQueue): void {
    if (this.waiting > 0 && queue.free > 0 && this.#association?.ioQueues.includes(queue) === true)
      this.#send(queue, this.#next());
  }

  /** The association is lost; these are its commands without answer. */
  lost(unanswered: readonly HostRequest[], reason: Error): void {
    this.#association = undefined;
    const again: HostRequest[] = [];
    for (const request of unanswered) {
      if (request.replayable && this.#closed === undefined) again.push(request);
      else
        request.fail(
          this.#closed ?? new RoceError('ERR_ROCE_CLOSED', `not known whether it was done: ${reason.message}`),
        );
    }
    again.sort((a, b) => a.order - b.order);
    this.replayed += again.length;
    this.#waiting.splice(0, this.#first, ...again);
    this.#first = 0;
  }

  /** Nothing is sent any more, and what waits fails. */
  close(reason: Error): void {
    if (this.#closed !== undefined) return;
    this.#closed = reason;
    this.#association = undefined;
    for (const request of this.#waiting.splice(this.#first)) request.fail(reason);
    this.#waiting.length = 0;
    this.#first = 0;
  }

  #pump(): void {
    while (this.waiting > 0) {
      const queue = this.#roomiest();
      if (queue === undefined) return;
      this.#send(queue, this.#next());
    }
  }

  #next(): HostRequest {
    const request = this.#waiting[this.#first++] as HostRequest;
    // The front is cut off now and then: a shift for each command would cost the length of the queue.
    if (this.#first >= CUT_AT) {
      this.#waiting.splice(0, this.#first);
      this.#first = 0;
    }
    return request;
  }

  #send(queue: HostQueue, request: HostRequest): void {
    request.sentTick = this.#association?.tick ?? 0;
    queue.send(request);
  }

  #roomiest(): HostQueue | undefined {
    let best: HostQueue | undefined;
    let most = 0;
    for (const queue of this.#association?.ioQueues ?? [])
      if (queue.free > most) {
        best = queue;
        most = queue.free;
      }
    return best;
  }
}

const CUT_AT = 64;
