/**
 * The device objects of a datagram socket: a queue pair of type UD, and slots of memory for datagrams both ways. Owns
 * their making, posting and freeing. Has no table of peers.
 */
import { RDMA_UDP_QKEY } from '../../../packets/cm/index.ts';
import { invariant } from '../../../packets/errors.ts';
import { GRH_BYTES } from '../../../packets/grh.ts';
import { Access, type MemoryRegion } from '../../../transport/memory.ts';
import { QpState } from '../../../transport/qp-state.ts';
import { QpType } from '../../../transport/qp-type.ts';
import { WrOpcode } from '../../../transport/work.ts';
import type { RdmaAh, RdmaCq, RdmaDevice, RdmaPd, RdmaQp } from '../../device/api.ts';

export interface DatagramQueueSizes {
  readonly sendQueue: number;
  readonly receiveQueue: number;
  readonly inline: number;
}

export class DatagramQueues {
  readonly pd: RdmaPd;
  readonly cq: RdmaCq;
  readonly qp: RdmaQp;
  readonly #inline: number;
  readonly #sendRegion: MemoryRegion;
  readonly #receiveRegion: MemoryRegion;
  readonly #freeSlots: number[];
  readonly #undo: (() => void)[] = [];

  /** @throws RoceError ERR_ROCE_LIMIT, ERR_ROCE_CLOSED; nothing is left behind then */
  constructor(device: RdmaDevice, { sendQueue, receiveQueue, inline }: DatagramQueueSizes) {
    this.#inline = inline;
    this.#freeSlots = Array.from({ length: sendQueue }, (_, slot) => slot);
    try {
      this.pd = device.allocPd();
      this.#undo.push(() => this.pd.dealloc());
      this.cq = device.createCq(sendQueue + receiveQueue);
      this.#undo.push(() => device.destroyCq(this.cq));
      this.qp = this.pd.createQp({
        type: QpType.Ud,
        sendCq: this.cq,
        recvCq: this.cq,
        maxSendWr: sendQueue,
        maxRecvWr: receiveQueue,
        maxSge: 1,
        maxInlineData: inline,
      });
      this.#undo.push(() => this.qp.destroy());
      this.#sendRegion = this.#register(sendQueue * SLOT_BYTES);
      this.#receiveRegion = this.#register(receiveQueue * RECEIVE_SLOT_BYTES);
      this.qp.modifyNow({ state: QpState.Init, qkey: RDMA_UDP_QKEY });
      for (let slot = 0; slot < receiveQueue; slot++) this.postReceive(slot);
      this.qp.modifyNow({ state: QpState.Rtr });
      this.qp.modifyNow({ state: QpState.Rts, sqPsn: 0 });
    } catch (error) {
      this.free();
      throw error;
    }
  }

  /** Whether a datagram can be posted. */
  get canSend(): boolean {
    return this.#freeSlots.length > 0;
  }

  postReceive(slot: number): void {
    const offset = slot * RECEIVE_SLOT_BYTES;
    this.qp.postRecv({ wrId: slot, sges: [{ mr: this.#receiveRegion, offset, length: RECEIVE_SLOT_BYTES }] });
  }

  /** What lies in a receive slot behind the headers of the packet; `byteLen` is that of the completion. */
  received(slot: number, byteLen: number): Uint8Array {
    const start = slot * RECEIVE_SLOT_BYTES + GRH_BYTES;
    return this.#receiveRegion.bytes.subarray(start, start + Math.max(0, byteLen - GRH_BYTES));
  }

  /** Posts a datagram, which `fill` writes into its slot; it returns the length. There must be room. */
  send(ah: RdmaAh, remoteQpn: number, fill: (bytes: Uint8Array) => number): void {
    const slot = this.#freeSlots.pop();
    invariant(slot !== undefined, 'a datagram is sent when a slot is free');
    const mr = this.#sendRegion;
    const offset = slot * SLOT_BYTES;
    const bytes = mr.bytes.subarray(offset, offset + SLOT_BYTES);
    const length = fill(bytes);
    const source = length <= this.#inline ? { inline: bytes.subarray(0, length) } : { sges: [{ mr, offset, length }] };
    try {
      this.qp.postSend({ wrId: slot, opcode: WrOpcode.Send, ah, remoteQpn, remoteQkey: RDMA_UDP_QKEY, ...source });
    } catch (error) {
      this.#freeSlots.push(slot);
      throw error;
    }
  }

  /** A send of slot `slot` has completed. */
  sent(slot: number): void {
    this.#freeSlots.push(slot);
  }

  /** Frees everything; address handles have to be gone. May be called more than once. */
  free(): void {
    while (this.#undo.length > 0) this.#undo.pop()?.();
  }

  #register(bytes: number): MemoryRegion {
    const region = this.pd.regMr(bytes, { access: Access.LocalWrite });
    this.#undo.push(() => this.pd.deregMr(region));
    return region;
  }
}

/** Largest datagram with its header (RS_SNDLOWAT). */
export const SLOT_BYTES = 2048;
const RECEIVE_SLOT_BYTES = GRH_BYTES + SLOT_BYTES;
