/**
 * A queue pair as the worker serves it: it counts what was posted, and keeps the application's view of it up to date.
 */
import { type RecvWr, type SendWr, WrOpcode } from '../../../transport/work.ts';
import type { Qp } from '../../device/verbs/index.ts';
import { QpStatus, STATUS_BYTES } from './qp-status.ts';

/** Send work that may change key states, by the count of work posted up to it. */
interface KeyWork {
  readonly posted: number;
  readonly keys: readonly number[];
}

export class ServedQp {
  readonly qp: Qp;
  readonly memory = new SharedArrayBuffer(STATUS_BYTES);
  readonly #status = new QpStatus(this.memory);
  readonly #keysChanged: (keys: readonly number[]) => void;
  #sends = 0;
  #recvs = 0;
  /** Work that was not done when key states were published last. */
  readonly #keyWork: KeyWork[] = [];

  /** @param keysChanged called when work may have changed key states */
  constructor(qp: Qp, keysChanged: (keys: readonly number[]) => void) {
    this.qp = qp;
    this.#keysChanged = keysChanged;
    qp.modified = () => this.refresh();
    this.refresh();
  }

  postSend(wr: SendWr): void {
    this.qp.postSend(wr);
    this.#sends += 1;
    const keys = keysOf(wr);
    if (keys !== undefined) this.#keyWork.push({ posted: this.#sends, keys });
  }

  postRecv(wr: RecvWr): void {
    this.qp.postRecv(wr);
    this.#recvs += 1;
  }

  refresh(): void {
    const { core } = this.qp;
    const sendsDone = this.#sends - core.sendsOutstanding;
    this.#status.update(core.state, sendsDone, this.#recvs - core.receivesPosted);
    if (this.#keyWork.length > 0) this.#lookAtKeys(sendsDone);
  }

  #lookAtKeys(sendsDone: number): void {
    const work = this.#keyWork;
    for (const { keys } of work) this.#keysChanged(keys);
    while (work[0] !== undefined && work[0].posted <= sendsDone) work.shift();
  }
}

function keysOf({ opcode, invalidateRkey = 0, mw, bind, reg }: SendWr): readonly number[] | undefined {
  switch (opcode) {
    case WrOpcode.LocalInv:
      return [invalidateRkey];
    case WrOpcode.BindMw:
      return mw === undefined || bind === undefined ? undefined : [mw.rkey, bind.mr.rkey];
    case WrOpcode.RegMr:
      return reg === undefined ? undefined : [reg.mr.rkey];
    default:
      return undefined;
  }
}
