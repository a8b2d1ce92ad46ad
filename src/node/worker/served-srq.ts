/**
 * A shared receive queue as the worker serves it: it counts what was posted, and keeps the application's view of it up
 * to date.
 */
import type { RecvWr } from '../../../transport/work.ts';
import type { Srq } from '../../device/verbs/index.ts';
import { SRQ_STATUS_BYTES, SrqStatus } from './srq-status.ts';

export class ServedSrq {
  readonly srq: Srq;
  readonly memory = new SharedArrayBuffer(SRQ_STATUS_BYTES);
  readonly #status = new SrqStatus(this.memory);
  #posted = 0;

  constructor(srq: Srq) {
    this.srq = srq;
    this.refresh();
  }

  postRecv(wr: RecvWr): void {
    this.srq.postRecv(wr);
    this.#posted += 1;
  }

  refresh(): void {
    this.#status.update(this.srq.core, this.#posted);
  }
}
