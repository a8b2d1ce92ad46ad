/**
 * One end of a connection in the property tests: a queue pair with its keys, queues and counters, and what an onlooker
 * on the wire knows of it. Nothing here decides what happens; `world.ts` does.
 */
import { IpAddress } from '../../../packets/address.ts';
import { CompletionQueue } from '../../../transport/completion-queue.ts';
import { PortCounters } from '../../../transport/counters.ts';
import { KeyTable } from '../../../transport/key-table.ts';
import { Access, type MemoryRegion, ProtectionDomain, type RegionOptions } from '../../../transport/memory.ts';
import { QpState } from '../../../transport/qp-state.ts';
import type { Random } from '../../../transport/random.ts';
import { RcQueuePair } from '../../../transport/rc-queue-pair.ts';
import { pathTemplate } from '../../transport/support/wire.ts';

export interface LinkOptions {
  readonly mtu: number;
  /** First PSN that this side sends. */
  readonly sqPsn: number;
  readonly rqPsn: number;
  readonly timeout: number;
  readonly retryCnt: number;
  readonly rnrRetry: number;
  readonly minRnrTimer: number;
  readonly maxRdAtomic: number;
  readonly maxDestRdAtomic: number;
}

export const QUEUE_DEPTH = 8;
const ALL_ACCESS =
  Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.FlushGlobal;

export class Side {
  readonly name: string;
  readonly ip: IpAddress;
  readonly qp: RcQueuePair;
  readonly keys: KeyTable;
  readonly pd = new ProtectionDomain(1);
  readonly counters = new PortCounters();
  readonly sendCq = new CompletionQueue(4096, []);
  readonly recvCq = new CompletionQueue(4096, []);
  readonly sqPsn: number;
  /** Newest PSN, counted from `sqPsn` without wrapping, that a delivered response vouches for; -1 for none. */
  vouched = -1;
  /** PSNs of READ and atomic answers delivered, counted in the same way. */
  readonly answered = new Set<number>();
  /** Newest PSN any delivered request has named to this side, counted from the peer's first. */
  requested = -1;
  #nextIova = 0x10_0000n;

  constructor(id: number, random: Random, sqPsn: number) {
    this.name = id === 1 ? 'A' : 'B';
    this.ip = IpAddress.parse(`192.0.2.${id}`);
    this.sqPsn = sqPsn;
    this.keys = new KeyTable(random, 10_000);
    const { pd, keys, sendCq, recvCq, counters } = this;
    const capabilities = { maxSendWr: QUEUE_DEPTH, maxRecvWr: 256, maxSge: 4, maxInlineData: 32 };
    this.qp = new RcQueuePair({ qpn: 0x10 + id, pd, keys, sendCq, recvCq }, capabilities, counters);
  }

  connect(peer: Side, options: LinkOptions): void {
    const { qp, ip } = this;
    const { mtu, rqPsn, sqPsn, timeout, retryCnt, rnrRetry, minRnrTimer, maxRdAtomic, maxDestRdAtomic } = options;
    const path = { template: pathTemplate(ip, peer.ip), local: ip, remote: peer.ip };
    const destQpn = peer.qp.qpn;
    qp.modify({ state: QpState.Init, access: ALL_ACCESS | Access.FlushPersistent });
    qp.modify({ state: QpState.Rtr, path, destQpn, rqPsn, mtu, maxDestRdAtomic, minRnrTimer });
    qp.modify({ state: QpState.Rts, sqPsn, timeout, retryCnt, rnrRetry, maxRdAtomic });
  }

  region(length: number, random: Random, options: Partial<RegionOptions> = {}): MemoryRegion {
    const bytes = Uint8Array.from({ length }, () => random.u32() & 0xff);
    const iova = this.#nextIova;
    this.#nextIova += BigInt(length) + 0x1_0000_0007n;
    const access = options.persistent === undefined ? ALL_ACCESS : ALL_ACCESS | Access.FlushPersistent;
    return this.keys.register(this.pd, bytes, { access, iova, ...options });
  }
}
