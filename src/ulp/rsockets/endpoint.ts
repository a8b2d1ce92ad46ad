/**
 * The device objects of an rsocket: a queue pair, one completion queue, and three regions: send buffer, receive buffer,
 * and the list of entries that the peer writes.
 *
 * Owns their making and freeing, and how messages become work requests (rdma:rsocket.c#rs_create_ep, #rs_init_bufs,
 * #rs_post_write_msg). Every work request is signaled, as there. Never counts anything: the windows do.
 */
import { Access, type MemoryRegion } from '../../../transport/memory.ts';
import { QpState } from '../../../transport/qp-state.ts';
import { type Sge, WrOpcode } from '../../../transport/work.ts';
import type { RdmaCq, RdmaDevice, RdmaPd, RdmaQp } from '../../device/api.ts';
import { CONTROL_SLOTS, type RSocketSettings } from './options.ts';
import {
  type ConnData,
  IOMAP_BYTES,
  MAX_MESSAGE_DATA,
  MESSAGE_BYTES,
  type RemoteSge,
  RS_VERSION,
  SGE_BYTES,
  TARGET_ENTRIES,
} from './protocol.ts';
import { SECOND_OF_TWO } from './send-window.ts';

/** Bytes of a work request: copied into it, or where they lie. */
export type MessageSource = { readonly inline: Uint8Array } | { readonly sges: readonly Sge[] };

/** Where a WRITE goes. */
export type WriteDestination = Pick<RemoteSge, 'addr' | 'key'>;

export class RSocketQp {
  readonly device: RdmaDevice;
  readonly settings: RSocketSettings;
  readonly pd: RdmaPd;
  readonly cq: RdmaCq;
  readonly qp: RdmaQp;
  /** The send buffer, and behind it room for control messages that are too large to be inline. */
  readonly sendRegion: MemoryRegion;
  /** The receive buffer, and behind it room for messages that come as SENDs. */
  readonly receiveRegion: MemoryRegion;
  /** The list of buffers of the peer, and behind it the list of what it has mapped. */
  readonly listRegion: MemoryRegion;
  readonly #undo: (() => void)[] = [];
  #nextMessageSlot = 0;
  #nextControlSlot = 0;

  /** @throws RoceError ERR_ROCE_LIMIT, ERR_ROCE_CLOSED; nothing is left behind then */
  constructor(device: RdmaDevice, settings: RSocketSettings) {
    this.device = device;
    this.settings = settings;
    const { sendQueue, receiveQueue, sendBuffer, receiveBuffer, iomaps, messageSend } = settings;
    try {
      this.pd = device.allocPd();
      this.#undo.push(() => this.pd.dealloc());
      this.cq = device.createCq(sendQueue + receiveQueue);
      this.#undo.push(() => device.destroyCq(this.cq));
      this.qp = this.pd.createQp({
        sendCq: this.cq,
        recvCq: this.cq,
        maxSendWr: sendQueue,
        maxRecvWr: receiveQueue,
        maxSge: 2,
        maxInlineData: settings.inline,
      });
      this.#undo.push(() => this.qp.destroy());
      this.sendRegion = this.#register(sendBuffer + CONTROL_SLOTS * SGE_BYTES, Access.LocalWrite);
      this.receiveRegion = this.#register(
        receiveBuffer + (messageSend ? receiveQueue * MESSAGE_BYTES : 0),
        Access.LocalWrite | Access.RemoteWrite,
      );
      this.listRegion = this.#register(
        TARGET_ENTRIES * SGE_BYTES + iomaps * IOMAP_BYTES,
        Access.LocalWrite | Access.RemoteWrite,
      );
      // As rdma_create_qp leaves it, so that receives are there before the peer can send.
      this.qp.modifyNow({ state: QpState.Init, access: Access.LocalWrite | Access.RemoteWrite });
      for (let i = 0; i < receiveQueue; i++) this.postReceive();
    } catch (error) {
      this.free();
      throw error;
    }
  }

  /** Our connection data for the peer. */
  get connData(): ConnData {
    const { receiveQueue, receiveBuffer, iomaps } = this.settings;
    return {
      version: RS_VERSION,
      bigEndian: false,
      credits: receiveQueue,
      iomapSize: iomaps,
      targetSgl: { addr: this.listRegion.iova, key: this.listRegion.rkey, length: TARGET_ENTRIES },
      dataBuf: { addr: this.receiveRegion.iova, key: this.receiveRegion.rkey, length: receiveBuffer / 2 },
    };
  }

  postReceive(): void {
    if (!this.settings.messageSend) {
      this.qp.postRecv({ wrId: 0 });
      return;
    }
    const slot = this.#nextMessageSlot;
    this.#nextMessageSlot = (slot + 1) % this.settings.receiveQueue;
    const offset = this.settings.receiveBuffer + slot * MESSAGE_BYTES;
    this.qp.postRecv({ wrId: slot, sges: [{ mr: this.receiveRegion, offset, length: MESSAGE_BYTES }] });
  }

  /**
   * The message that a SEND has left in slot `slot`. Such messages are in the sender's byte order, which is assumed to
   * be ours.
   */
  receivedMessage(slot: number): number {
    return this.receiveRegion.view.getUint32(this.settings.receiveBuffer + slot * MESSAGE_BYTES, true);
  }

  /** A message without data. */
  postMessage(message: number): void {
    if (this.settings.messageSend) this.#postSend(message, message);
    else this.qp.postSend({ wrId: message, opcode: WrOpcode.RdmaWriteWithImm, immData: message });
  }

  /** Data or an entry, and its message. */
  postWriteMessage(message: number, source: MessageSource, { addr, key }: WriteDestination): void {
    if (this.settings.messageSend) {
      this.postWrite(message, source, { addr, key });
      this.#postSend(SECOND_OF_TWO + ((message & ~MAX_MESSAGE_DATA) >>> 0), message);
      return;
    }
    this.qp.postSend({
      wrId: message,
      opcode: WrOpcode.RdmaWriteWithImm,
      immData: message,
      remoteAddr: addr,
      rkey: key,
      ...source,
    });
  }

  /** Data without a message; `mark` is the wrId of its completion. */
  postWrite(mark: number, source: MessageSource, { addr, key }: WriteDestination): void {
    this.qp.postSend({ wrId: mark, opcode: WrOpcode.RdmaWrite, remoteAddr: addr, rkey: key, ...source });
  }

  /** Where a control message may lie that is larger than what goes inline; four are under way at most. */
  controlSource(bytes: Uint8Array): MessageSource {
    if (bytes.length <= this.settings.inline) return { inline: bytes };
    const slot = this.#nextControlSlot;
    this.#nextControlSlot = (slot + 1) % CONTROL_SLOTS;
    const offset = this.settings.sendBuffer + slot * SGE_BYTES;
    this.sendRegion.bytes.set(bytes, offset);
    return { sges: [{ mr: this.sendRegion, offset, length: bytes.length }] };
  }

  /** Frees everything; outstanding work is lost. May be called more than once. */
  free(): void {
    while (this.#undo.length > 0) this.#undo.pop()?.();
  }

  #postSend(wrId: number, message: number): void {
    const inline = new Uint8Array(MESSAGE_BYTES);
    new DataView(inline.buffer).setUint32(0, message, true);
    this.qp.postSend({ wrId, opcode: WrOpcode.Send, inline });
  }

  #register(bytes: number, access: number): MemoryRegion {
    const region = this.pd.regMr(bytes, { access });
    this.#undo.push(() => this.pd.deregMr(region));
    return region;
  }
}
