/** A queue pair as the worker serves it: it counts what was posted, and keeps the application's view of it up to date. */
import type { RecvWr, SendWr } from '../../transport/work.ts';
import type { Qp } from '../verbs/index.ts';
import { QpStatus, STATUS_BYTES } from './qp-status.ts';

export class ServedQp {
  readonly qp: Qp;
  readonly memory = new SharedArrayBuffer(STATUS_BYTES);
  readonly #status = new QpStatus(this.memory);
  #sends = 0;
  #recvs = 0;

  constructor(qp: Qp) {
    this.qp = qp;
    qp.modified = () => this.refresh();
    this.refresh();
  }

  postSend(wr: SendWr): void {
    this.qp.postSend(wr);
    this.#sends += 1;
  }

  postRecv(wr: RecvWr): void {
    this.qp.postRecv(wr);
    this.#recvs += 1;
  }

  refresh(): void {
    const { core } = this.qp;
    this.#status.update(core.state, this.#sends - core.sendsOutstanding, this.#recvs - core.receivesPosted);
  }
}
