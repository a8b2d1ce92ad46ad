/** A queue pair as the worker serves it: it counts what was posted, and keeps the application's view of it up to date. */
import { type RecvWr, type SendWr, WrOpcode } from '../../transport/work.ts';
import type { Qp } from '../verbs/index.ts';
import { QpStatus, STATUS_BYTES } from './qp-status.ts';

export class ServedQp {
  readonly qp: Qp;
  readonly memory = new SharedArrayBuffer(STATUS_BYTES);
  readonly #status = new QpStatus(this.memory);
  readonly #keysChanged: () => void;
  #sends = 0;
  #recvs = 0;
  /** Up to which send work that changes keys was posted, and up to which all was done when keys were looked at. */
  #keyWork = 0;
  #keysSeen = 0;

  /** @param keysChanged called when work may have been done that changes what keys open */
  constructor(qp: Qp, keysChanged: () => void) {
    this.qp = qp;
    this.#keysChanged = keysChanged;
    qp.modified = () => this.refresh();
    this.refresh();
  }

  postSend(wr: SendWr): void {
    this.qp.postSend(wr);
    this.#sends += 1;
    const { opcode } = wr;
    if (opcode === WrOpcode.LocalInv || opcode === WrOpcode.BindMw || opcode === WrOpcode.RegMr)
      this.#keyWork = this.#sends;
  }

  postRecv(wr: RecvWr): void {
    this.qp.postRecv(wr);
    this.#recvs += 1;
  }

  refresh(): void {
    const { core } = this.qp;
    const sendsDone = this.#sends - core.sendsOutstanding;
    this.#status.update(core.state, sendsDone, this.#recvs - core.receivesPosted);
    if (this.#keysSeen >= this.#keyWork) return;
    this.#keysSeen = sendsDone;
    this.#keysChanged();
  }
}
