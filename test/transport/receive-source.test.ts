/**
 * Receives that lie with the application until they are needed: a queue pair and a shared receive queue look there.
 * Method: the scripted peer, with a list for the source.
 */
import { describe, expect, it } from 'vitest';
import { CompletionQueue } from '../../transport/completion-queue.ts';
import { PortCounters } from '../../transport/counters.ts';
import { KeyTable } from '../../transport/key-table.ts';
import { Access, type MemoryRegion, ProtectionDomain } from '../../transport/memory.ts';
import { TransportPools } from '../../transport/pools.ts';
import { QpState } from '../../transport/qp-state.ts';
import { RcQueuePair } from '../../transport/rc-queue-pair.ts';
import type { RecvEntry } from '../../transport/recv-entry.ts';
import { type ReceiveSource, RecvQueue } from '../../transport/recv-queue.ts';
import { SharedReceiveQueue } from '../../transport/srq.ts';
import { WcStatus, WorkCompletion } from '../../transport/work.ts';
import { ack, pattern, rnrNak, sendOnly } from './support/packets.ts';
import { Peer, seededRandom } from './support/peer.ts';

class List implements ReceiveSource {
  readonly waiting: number[] = [];
  readonly #mr: MemoryRegion;

  constructor(mr: MemoryRegion) {
    this.#mr = mr;
  }

  get length(): number {
    return this.waiting.length;
  }

  pull(entry: RecvEntry): boolean {
    const wrId = this.waiting.shift();
    if (wrId === undefined) return false;
    entry.wrId = wrId;
    entry.segments.assign([{ mr: this.#mr, offset: 100 * wrId, length: 100 }]);
    return true;
  }
}

function makeList() {
  const pd = new ProtectionDomain(1);
  const keys = new KeyTable(seededRandom(7), 10);
  const mr = keys.register(pd, new Uint8Array(1000), { access: Access.LocalWrite, iova: 0n });
  return { pd, keys, mr, list: new List(mr) };
}

describe('a source of receives', () => {
  it('gives a shared receive queue what it has when a message comes, and the limit counts what is left there', () => {
    const { pd, keys, mr, list } = makeList();
    const notified: SharedReceiveQueue[] = [];
    const srq = new SharedReceiveQueue({ srqn: 9, pd, maxWr: 8, maxSge: 1, source: list }, notified);
    const peer = new Peer({ pd, keys, srq });
    peer.rx(sendOnly({ psn: 0, payload: pattern(8), ackReq: true }));
    peer.expectTx([rnrNak(12, { psn: 0, msn: 0 })]);
    list.waiting.push(3, 4, 5);
    srq.modify({ limit: 2 }, 8);
    expect(srq.length).toBe(3);
    peer.rx(sendOnly({ psn: 0, payload: pattern(8), ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    expect(mr.bytes.slice(300, 308)).toEqual(pattern(8));
    expect(notified).toHaveLength(0);
    peer.rx(sendOnly({ psn: 1, payload: pattern(8), ackReq: true }));
    expect(srq.pollEvent()).toBe('srq-limit-reached');
    expect(peer.completions()).toEqual(['recv 3 Success Recv 8 bytes', 'recv 4 Success Recv 8 bytes']);
  });

  it('gives a queue pair its receives, and is emptied when the queue pair fails', () => {
    const { pd, keys, list } = makeList();
    const cq = new CompletionQueue(10, []);
    const identity = { qpn: 5, pd, keys, sendCq: cq, recvCq: cq, receiveSource: list };
    const capabilities = { maxSendWr: 4, maxRecvWr: 4, maxSge: 1, maxInlineData: 0 };
    const qp = new RcQueuePair(identity, capabilities, new PortCounters());
    list.waiting.push(1, 2);
    expect(qp.receivesPosted).toBe(2);
    qp.modify({ state: QpState.Init, access: 0 });
    qp.modify({ state: QpState.Error });
    const wc = new WorkCompletion();
    expect([cq.poll(wc), wc.wrId, wc.status]).toEqual([true, 1, WcStatus.WrFlushErr]);
    expect([cq.poll(wc), wc.wrId, wc.status]).toEqual([true, 2, WcStatus.WrFlushErr]);
    expect(cq.poll(wc)).toBe(false);
  });

  it('cannot keep a flush going by filling up again', () => {
    const { pd, list } = makeList();
    const source: ReceiveSource = { length: 3, pull: (entry) => list.pull(entry) };
    const queue = new RecvQueue(4, 1, pd, new TransportPools().receives, undefined, source);
    for (let i = 0; i < 1000; i++) list.waiting.push(i);
    const cq = new CompletionQueue(2000, []);
    queue.flush(5, cq);
    expect(cq.length).toBe(3);
  });
});
