/**
 * Where the peer reaches into our memory: the target that a key opens, and the WRITE in progress, with the bytes that
 * have come and that are still to come. Beside receive-slot.ts, which does the same for SENDs. Any connected service
 * uses both.
 */
import type { Frame } from '../packets/frame.ts';
import { OpFlag, RETH_AT } from '../packets/opcode.ts';
import { rethDmaLength, rethRkey, rethVaHi, rethVaLo } from '../packets/reth.ts';
import type { Grant } from './grant.ts';
import type { KeyHolder } from './key-table.ts';
import { Access } from './memory.ts';
import { MAX_MESSAGE_BYTES } from './send-queue.ts';
import { Verdict } from './verdict.ts';

/** What a remote key has opened. */
export class RemoteTarget {
  /** Undefined after a zero-length access, which needs no key (ref:conformance#KEY-04), or a refused one. */
  grant: Grant | undefined = undefined;
  offset = 0;

  /**
   * Opens `length` bytes at virtual address hi:lo for `access`, or returns why not. The key is checked whatever the
   * length is.
   */
  open(rkey: number, hi: number, lo: number, length: number, access: number, holder: KeyHolder): Verdict {
    this.grant = holder.keys.find(rkey, holder.pd, access, holder.qpn);
    this.offset = this.grant?.offsetOf(hi, lo, length) ?? -1;
    return this.offset < 0 ? Verdict.KeyRefused : Verdict.Accept;
  }

  /** Opens all that the key reaches. */
  openWhole(rkey: number, access: number, holder: KeyHolder): Verdict {
    this.grant = holder.keys.find(rkey, holder.pd, access, holder.qpn);
    this.offset = 0;
    return this.grant === undefined ? Verdict.KeyRefused : Verdict.Accept;
  }

  /** Opens what the RETH at `reth` names for a READ or a WRITE. */
  openReth(view: DataView, reth: number, length: number, access: number, holder: KeyHolder): Verdict {
    if (length === 0) {
      this.grant = undefined;
      this.offset = 0;
      return Verdict.Accept;
    }
    return this.open(rethRkey(view, reth), rethVaHi(view, reth), rethVaLo(view, reth), length, access, holder);
  }
}

export class WriteSlot extends RemoteTarget {
  /** Bytes of the WRITE, and how many of them are still to come. */
  length = 0;
  #left = 0;

  /**
   * The whole DMA length is checked with the first packet (ref:conformance#KEY-12), the key again with every packet.
   */
  check(frame: Frame, holder: KeyHolder): Verdict {
    const { flags, payloadLength } = frame;
    if ((flags & (OpFlag.First | OpFlag.Only)) !== 0) {
      const reth = frame.bthOffset + (RETH_AT[frame.opcode] as number);
      this.length = rethDmaLength(frame.view, reth);
      this.#left = this.length;
      if (this.#left > MAX_MESSAGE_BYTES) return Verdict.BadLength;
      if (!this.#fits(flags, payloadLength)) return Verdict.BadLength;
      return this.openReth(frame.view, reth, this.#left, Access.RemoteWrite, holder);
    }
    if (!this.#fits(flags, payloadLength)) return Verdict.BadLength;
    return this.grant?.valid === true ? Verdict.Accept : Verdict.KeyRefused;
  }

  /** Places the payload behind what is there; false when memory is not there any more. */
  place(frame: Frame): boolean {
    const { payloadLength } = frame;
    const { grant } = this;
    const more = payloadLength < this.#left;
    if (grant?.copyIn(this.offset, frame.bytes, frame.payloadOffset, payloadLength, more, this) === false) return false;
    this.offset += payloadLength;
    this.#left -= payloadLength;
    return true;
  }

  /** The WRITE is done or given up. */
  close(): void {
    this.grant = undefined;
    this.#left = 0;
  }

  /**
   * FIRST and MIDDLE leave something for later, LAST and ONLY leave nothing (ref:conformance#LEN-04, LEN-05, OPS-06).
   */
  #fits(flags: number, payloadLength: number): boolean {
    const ends = (flags & (OpFlag.Last | OpFlag.Only)) !== 0;
    return ends ? payloadLength === this.#left : payloadLength < this.#left;
  }
}
