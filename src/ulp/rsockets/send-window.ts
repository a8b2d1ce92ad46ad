/**
 * What an rsocket may send: room in the send queue and the send buffer, credits of the peer, and the list of buffers
 * that the peer keeps up to date in our memory.
 *
 * Owns the counting (rdma:rsocket.c#rs_can_send, #rs_write_data, #rs_poll_cq). Never posts anything. What the peer
 * writes is validated: its addresses are its own, its credits are checked against its first word.
 */
import { CONTROL_SLOTS, type RSocketSettings, SEND_LOW_WATER } from './options.ts';
import {
  type ConnData,
  fits,
  IOMAP_BYTES,
  messageData,
  messageOp,
  type RemoteSge,
  RsCtrl,
  RsOp,
  readSge,
  SGE_BYTES,
  TARGET_ENTRIES,
  writeSge,
} from './protocol.ts';

/** Marks the completion of the SEND of a message whose data went before it: it returns a slot and no bytes. */
export const SECOND_OF_TWO = 2 ** 32;

/** Where the next data goes, and how much of it fits there. */
export interface RemoteBuffer {
  readonly addr: bigint;
  readonly key: number;
  /** Bytes, 0 when the peer has no buffer for us. */
  readonly length: number;
}

export class SendWindow {
  /** Control messages under way, at most `CONTROL_SLOTS`. */
  controls = 0;
  readonly #list: DataView;
  readonly #slotsPerMessage: number;
  readonly #slots: number;
  #freeSlots: number;
  #freeBytes: number;
  /** Entry of the list in use. */
  #entry = 0;
  /** Data messages sent, and the last message number that the peer's credits allow; 16 bits both. */
  #sent = 0;
  #granted = 0;
  #peerCredits = 0;

  /** @param list memory of the list of entries, which the peer writes */
  constructor(settings: RSocketSettings, list: DataView) {
    this.#list = list;
    this.#slotsPerMessage = settings.messageSend ? 2 : 1;
    this.#slots = settings.sendQueue - CONTROL_SLOTS;
    this.#freeSlots = this.#slots;
    this.#freeBytes = settings.sendBuffer;
  }

  /** Takes the peer's connection data. */
  begin({ credits, dataBuf }: ConnData): void {
    this.#peerCredits = credits;
    this.#granted = credits;
    writeSge(this.#list, 0, dataBuf, true);
  }

  /** Whether anything may be sent now (rdma:rsocket.c#rs_can_send). */
  get open(): boolean {
    return (
      this.#freeSlots >= this.#slotsPerMessage &&
      this.#freeBytes >= SEND_LOW_WATER &&
      this.#sent !== this.#granted &&
      this.target.length > 0
    );
  }

  /** Send buffer that is free, in bytes. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** Whether everything sent was acknowledged, control messages too. */
  get idle(): boolean {
    return this.#freeSlots === this.#slots && this.controls === 0;
  }

  /** Whether a control message may be sent: with its buffer's, it takes two slots where messages are SENDs. */
  controlsFree(count: number): boolean {
    return this.controls + count <= CONTROL_SLOTS;
  }

  get target(): RemoteBuffer {
    return readSge(this.#list, this.#entry * SGE_BYTES, true);
  }

  /** Whether the address range of the peer's present buffer is valid. */
  get targetIsSound(): boolean {
    const { addr, length } = this.target;
    return fits(addr, length);
  }

  /**
   * Takes `length` bytes of the peer's buffer for a data message; the entry is changed before the peer can renew it.
   */
  takeTarget(length: number): RemoteSge {
    const { addr, key, length: left } = this.target;
    this.takeMessage(length);
    writeSge(
      this.#list,
      this.#entry * SGE_BYTES,
      { addr: BigInt.asUintN(64, addr + BigInt(length)), key, length: left - length },
      true,
    );
    if (left === length) this.#entry = (this.#entry + 1) % TARGET_ENTRIES;
    return { addr, key, length };
  }

  /** Takes slots and `bytes` of the send buffer for a message, and a credit. */
  takeMessage(bytes: number): void {
    this.#sent = (this.#sent + 1) & SEQUENCE_MASK;
    this.#freeSlots -= this.#slotsPerMessage;
    this.#freeBytes -= bytes;
  }

  /** Takes slots and buffer for a WRITE without a message. */
  takeWrite(bytes: number): void {
    this.#freeSlots -= 1;
    this.#freeBytes -= bytes;
  }

  /** A work request with `bytes` of the send buffer has completed. */
  completed(bytes: number): void {
    this.#freeSlots += 1;
    this.#freeBytes += bytes;
  }

  /** The work request `wrId` has completed: the message that it was. Whether that was the Disconnect. */
  workCompleted(wrId: number): boolean {
    const data = messageData(wrId);
    switch (messageOp(wrId)) {
      case RsOp.Sgl:
        this.controls--;
        return false;
      case RsOp.Ctrl:
        this.controls--;
        return data === RsCtrl.Disconnect;
      case RsOp.IomapSgl:
        this.completed(wrId >= SECOND_OF_TWO ? 0 : IOMAP_BYTES);
        return false;
      default:
        this.completed(data);
        return false;
    }
  }

  /** The peer grants messages up to number `granted` (16 bits); false when the value is impossible. */
  grant(granted: number): boolean {
    const ahead = (granted - this.#sent) & SEQUENCE_MASK;
    if (ahead > this.#peerCredits) return false;
    this.#granted = granted & SEQUENCE_MASK;
    return true;
  }
}

const SEQUENCE_MASK = 0xff_ff;
