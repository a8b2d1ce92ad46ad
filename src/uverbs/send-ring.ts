/**
 * The send queue of a queue pair as its client has it: a ring that the client fills before it rings the doorbell.
 * Requests pass from it into the transport at once; the client gets an entry back when its request has completed, and
 * with it those before it. Owns what a completion needs of its request: the transport knows it by its position.
 */
import { RoceError } from '../../packets/errors.ts';
import { rightsOf } from '../../transport/qp-state.ts';
import { type SendWr, WrOpcode } from '../../transport/work.ts';
import type { Qp } from '../device/verbs/index.ts';
import { RXE_DMA_INFO, RXE_SEND_WQE, RXE_SEND_WR } from './abi/rxe.ts';
import { Fields } from './fields.ts';
import type { SharedRing } from './host.ts';
import type { InboundRing } from './ring.ts';
import type { WorkFacts } from './ring-cq.ts';
import { type SendBounds, SendReader, type WorkObjects } from './work-requests.ts';

const WQE = RXE_SEND_WQE.at;
const WR_ID = WQE.wr + RXE_SEND_WR.at.wr_id;
/** Words kept of each request: its id, its bytes, whether it has immediate data. */
const WORDS = 4;

export class SendRing {
  readonly bounds: SendBounds;
  readonly #ring: InboundRing;
  readonly #reader: SendReader;
  readonly #objects: WorkObjects;
  readonly #wqe: Fields;
  readonly #facts: Uint32Array;

  constructor(ring: InboundRing, bounds: SendBounds, objects: WorkObjects) {
    this.#ring = ring;
    this.bounds = bounds;
    this.#reader = new SendReader(bounds, objects);
    this.#objects = objects;
    this.#wqe = new Fields(new Uint8Array(ring.size.stride));
    this.#facts = new Uint32Array((ring.mask + 1) * WORDS);
  }

  get shared(): SharedRing {
    return this.#ring.shared;
  }

  get capacity(): number {
    return this.#ring.mask;
  }

  /** Posts what waits. Before RTS nothing is taken, and false is returned (rxe:rxe_verbs.c#rxe_post_send). */
  post(qp: Qp): boolean {
    if (!rightsOf(qp.state).postSend) return false;
    const ring = this.#ring;
    const room = ring.mask - qp.core.sendsOutstanding;
    for (let n = Math.min(ring.waiting, room); n > 0; n--) {
      const position = ring.next;
      ring.take(this.#wqe.bytes);
      const wr = this.#reader.read(this.#wqe, position);
      this.#remember(position, wr);
      this.#post(qp, wr);
    }
    this.settle(qp);
    return true;
  }

  /** Gives the client back the entries of requests that are done, those without a completion too. */
  settle(qp: Qp): void {
    this.#ring.release(this.#ring.next - qp.core.sendsOutstanding);
  }

  /** RESET: what waits is forgotten. */
  drop(): void {
    this.#ring.drop();
  }

  /** The request at `position` completes, and those before it are done. */
  completing(position: number, facts: WorkFacts): void {
    const at = (position & this.#ring.mask) * WORDS;
    facts.wrIdLow = this.#facts[at] as number;
    facts.wrIdHigh = this.#facts[at + 1] as number;
    facts.byteLen = this.#facts[at + 2] as number;
    facts.immediate = this.#facts[at + 3] === 1;
    this.#ring.release(position + 1);
  }

  #remember(position: number, wr: SendWr): void {
    const at = (position & this.#ring.mask) * WORDS;
    const immediate = wr.opcode === WrOpcode.SendWithImm || wr.opcode === WrOpcode.RdmaWriteWithImm;
    this.#facts[at] = this.#wqe.u32(WR_ID);
    this.#facts[at + 1] = this.#wqe.u32(WR_ID + 4);
    this.#facts[at + 2] = this.#wqe.u32(WQE.dma + RXE_DMA_INFO.at.length);
    this.#facts[at + 3] = immediate ? 1 : 0;
  }

  #post(qp: Qp, wr: SendWr): void {
    try {
      qp.core.postSend(wr);
      if (wr.ah !== undefined) this.#objects.used(wr.ah);
    } catch (error) {
      // Something that no honest provider asks for: it fails in its turn.
      if (!(error instanceof RoceError)) throw error;
      qp.core.postSend(this.#reader.failing(wr));
    }
  }
}
