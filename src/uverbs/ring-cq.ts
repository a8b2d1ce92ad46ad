/**
 * A completion queue whose entries lie in a ring that the client polls. An entry is there as soon as it completes; an
 * armed queue then sends an event to its channel.
 *
 * What an entry says is what rdma_rxe writes (rxe:rxe_comp.c#make_send_cqe, rxe:rxe_resp.c#do_complete); the rules of
 * arming are rxe:rxe_cq.c#rxe_cq_post's, with one difference: a failed send counts as solicited, as
 * ibv_req_notify_cq(3) says.
 */
import type { CompletionQueue } from '../../transport/completion-queue.ts';
import type { TransportPools } from '../../transport/pools.ts';
import { WcOpcode, type WcStatus, WorkCompletion } from '../../transport/work.ts';
import { Cq } from '../device/verbs/index.ts';
import { WC } from './abi/verbs.ts';
import { Fields } from './fields.ts';
import { Armed } from './host.ts';
import type { OutboundRing } from './ring.ts';

const AT = WC.at;
const NO_WORDS = new Int32Array(0);
const WcFlag = { Grh: 1, WithImm: 2, WithInvalidate: 8 } as const;

/** What an entry says beside the completion itself. */
export interface WorkFacts {
  /** The halves of the client's id. */
  wrIdHigh: number;
  wrIdLow: number;
  /** Bytes of the message: of sends, which the transport does not count. */
  byteLen: number;
  /** A send carried immediate data. */
  immediate: boolean;
}

/** What a completion queue tells the file that it is of. */
export interface RingCqWatcher {
  /** Whose completion this is: fills `facts`, and gives the client back the entry of a send. */
  completing(wc: WorkCompletion, facts: WorkFacts): void;
  /** An entry is in the ring. */
  completed(): void;
  /** The queue was armed for what has come. */
  notify(cq: RingCq): void;
}

/**
 * What stands in the first 40 bytes, by IP version: of a datagram there is no service level, and NICs tell this in its
 * place (bit 3: UDP; 1: IPv6, 2: IPv4). rdma_rxe leaves it 0, and UCX before 1.19 then takes every header for IPv6 and
 * drops what came by IPv4.
 */
const PACKET_TYPES: Readonly<Record<number, number>> = { 4: 8 | 2, 6: 8 | 1 };

export class RingCq extends Cq {
  #ring: OutboundRing;
  readonly #watcher: RingCqWatcher;
  readonly #notified: CompletionQueue[];
  readonly #wc = new WorkCompletion();
  readonly #entry = new Fields(new Uint8Array(WC.size));
  readonly #facts: WorkFacts = { wrIdHigh: 0, wrIdLow: 0, byteLen: 0, immediate: false };
  #armedAny = false;
  #armedSolicited = false;
  #words: Int32Array = NO_WORDS;
  #word = 0;

  constructor(
    ring: OutboundRing,
    watcher: RingCqWatcher,
    notified: CompletionQueue[],
    most: number,
    pools: TransportPools,
  ) {
    super(ring.size.capacity, notified, most, pools);
    this.#ring = ring;
    this.#watcher = watcher;
    this.#notified = notified;
  }

  get ring(): OutboundRing {
    return this.#ring;
  }

  override get length(): number {
    return this.#ring.length;
  }

  /** Goes on in another ring, which takes the entries that wait. Throws ERR_ROCE_ARGUMENT where they do not fit. */
  moveTo(ring: OutboundRing): void {
    super.resize(ring.size.capacity);
    this.#ring.moveTo(ring, WC.size);
    this.#ring = ring;
  }

  /** From now on the client can arm it by a word that both share, too. */
  armBy(words: Int32Array, word: number): void {
    this.#words = words;
    this.#word = word;
    Atomics.store(words, word, Armed.Queue);
  }

  /** The client cannot arm it any more. */
  disarm(): void {
    if (this.#words !== NO_WORDS) Atomics.store(this.#words, this.#word, 0);
    this.#words = NO_WORDS;
  }

  override arm(solicitedOnly: boolean): void {
    if (solicitedOnly) this.#armedSolicited = true;
    else this.#armedAny = true;
  }

  override push(
    qpn: number,
    wrId: number,
    status: WcStatus,
    opcode: number,
    byteLen: number,
  ): WorkCompletion | undefined {
    const wc = this.#wc;
    wc.begin(qpn, wrId, status, opcode, byteLen);
    if (!this.overrun && !this.#ring.full) return wc;
    // Lost, but the client gets its entry back all the same.
    this.#watcher.completing(wc, this.#facts);
    if (!this.overrun) this.#notified.push(this);
    this.overrun = true;
    return undefined;
  }

  override pushed(wc: WorkCompletion): void {
    this.trace?.completed(wc);
    this.#watcher.completing(wc, this.#facts);
    this.#write(wc);
    this.#ring.put(this.#entry.bytes);
    this.#watcher.completed();
    if (this.#takeArmed(wc.solicited || wc.status !== 0)) this.#watcher.notify(this);
  }

  /**
   * Whether it was armed for such a completion, which is in the ring by now: a client that arms it after this look
   * finds the entry when it polls.
   */
  #takeArmed(solicited: boolean): boolean {
    const words = this.#words;
    const word = words === NO_WORDS ? 0 : Atomics.load(words, this.#word);
    const any = this.#armedAny || (word & Armed.Any) !== 0;
    if (!any && !(solicited && (this.#armedSolicited || (word & Armed.Solicited) !== 0))) return false;
    this.#armedAny = false;
    this.#armedSolicited = false;
    if (words !== NO_WORDS) Atomics.store(words, this.#word, Armed.Queue);
    return true;
  }

  #write(wc: WorkCompletion): void {
    const entry = this.#entry;
    const facts = this.#facts;
    entry.bytes.fill(0);
    entry.put32(AT.wr_id, facts.wrIdLow);
    entry.put32(AT.wr_id + 4, facts.wrIdHigh);
    entry.put32(AT.status, wc.status);
    entry.put32(AT.qp_num, wc.qpn);
    if (wc.status !== 0) return;
    entry.put32(AT.opcode, wc.opcode);
    if (wc.opcode < WcOpcode.Recv) {
      entry.put32(AT.byte_len, facts.byteLen);
      if (facts.immediate) entry.put32(AT.wc_flags, WcFlag.WithImm);
      return;
    }
    let flags: number = WcFlag.Grh;
    if (wc.immData >= 0) {
      flags |= WcFlag.WithImm;
      entry.view.setUint32(AT.ex, wc.immData);
    } else if (wc.invalidatedRkey >= 0) {
      flags |= WcFlag.WithInvalidate;
      entry.put32(AT.ex, wc.invalidatedRkey);
    }
    entry.put32(AT.byte_len, wc.byteLen);
    entry.put32(AT.wc_flags, flags);
    entry.put32(AT.src_qp, wc.srcQpn);
    entry.put8(AT.sl, PACKET_TYPES[wc.ipVersion] ?? 0);
    entry.put8(AT.port_num, 1);
  }
}
