/**
 * The device objects of one queue: a domain, a completion queue, a queue pair, memory for capsules, and a region for
 * each command that can be outstanding, which lends its data to the target.
 *
 * Owns their making and freeing. Freeing ends every right of the target to the memory of callers, so what a connection
 * left behind cannot change data that a later one has delivered.
 */

import { Access, type MemoryRegion } from '../../../../transport/memory.ts';
import { QpState } from '../../../../transport/qp-state.ts';
import type { RdmaCq, RdmaDevice, RdmaPd, RdmaQp } from '../../../device/api.ts';
import { COMMAND_BYTES, COMPLETION_BYTES } from '../codec/index.ts';

/** How large a queue is. */
export interface QueueShape {
  /** Entries of the queue. */
  readonly size: number;
  /** Bytes of data in a capsule at most. */
  readonly inCapsuleBytes: number;
  /** Bytes of data of a command at most. */
  readonly maxTransferBytes: number;
}

export class QueueObjects {
  readonly pd: RdmaPd;
  readonly cq: RdmaCq;
  readonly qp: RdmaQp;
  /** Room for a capsule for each entry. */
  readonly capsules: MemoryRegion;
  /** Room for a response for each entry. */
  readonly responses: MemoryRegion;
  /** What lends data, one for each command that can be outstanding: an entry always stays empty. */
  readonly regions: MemoryRegion[] = [];
  /** From one capsule to the next, in bytes. */
  readonly stride: number;
  readonly #undo: (() => void)[] = [];

  /** @throws RoceError ERR_ROCE_LIMIT, ERR_ROCE_CLOSED; nothing is left behind then */
  constructor(device: RdmaDevice, { size, inCapsuleBytes, maxTransferBytes }: QueueShape) {
    this.stride = COMMAND_BYTES + inCapsuleBytes;
    try {
      this.pd = device.allocPd();
      this.#undo.push(() => this.pd.dealloc());
      // A command registers, sends, and may have to invalidate; and there is its response.
      this.cq = device.createCq((WORK_PER_COMMAND + 1) * size + 1);
      this.#undo.push(() => device.destroyCq(this.cq));
      this.qp = this.pd.createQp({
        sendCq: this.cq,
        recvCq: this.cq,
        maxSendWr: WORK_PER_COMMAND * size,
        maxRecvWr: size,
        maxSge: 1,
        maxInlineData: 0,
      });
      this.#undo.push(() => this.qp.destroy());
      this.capsules = this.#keep(this.pd.regMr(this.stride * size, { access: Access.LocalWrite }));
      this.responses = this.#keep(this.pd.regMr(COMPLETION_BYTES * size, { access: Access.LocalWrite }));
      for (let i = 1; i < size; i++) this.regions.push(this.#keep(this.pd.allocMr(maxTransferBytes)));
      // As rdma_create_qp leaves it, so that receives are there before the target can send.
      this.qp.modifyNow({ state: QpState.Init, access: Access.LocalWrite | Access.RemoteRead | Access.RemoteWrite });
      for (let i = 0; i < size; i++) this.postReceive(i);
    } catch (error) {
      this.free();
      throw error;
    }
  }

  postReceive(index: number): void {
    this.qp.postRecv({
      wrId: index,
      sges: [{ mr: this.responses, offset: index * COMPLETION_BYTES, length: COMPLETION_BYTES }],
    });
  }

  /** Frees everything. May be called more than once. */
  free(): void {
    while (this.#undo.length > 0) this.#undo.pop()?.();
  }

  #keep(region: MemoryRegion): MemoryRegion {
    this.#undo.push(() => this.pd.deregMr(region));
    return region;
  }
}

/** REG MR, SEND, LOCAL INV, and a LOCAL INV of the command before that is not yet retired. */
const WORK_PER_COMMAND = 4;
