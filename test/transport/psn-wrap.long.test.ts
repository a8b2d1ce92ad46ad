/**
 * Goal: a connection outlives every number it counts with: after more than 2^24 messages PSN, MSN, the numbers of
 * messages and the credits have all wrapped, and every message has still arrived once, in order. Method: two queue
 * pairs joined back to back, frames handed over in memory; SENDs that take receives, with credits, so that all counters
 * move with every packet.
 */
import { expect, it } from 'vitest';
import { IpAddress } from '../../packets/address.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../packets/frame.ts';
import { FrameWriter } from '../../packets/frame-writer.ts';
import { CompletionQueue } from '../../transport/completion-queue.ts';
import { PortCounters } from '../../transport/counters.ts';
import { KeyTable } from '../../transport/key-table.ts';
import { Access, ProtectionDomain } from '../../transport/memory.ts';
import { QpState } from '../../transport/qp-state.ts';
import { RcQueuePair } from '../../transport/rc-queue-pair.ts';
import { WcStatus, WorkCompletion, WrOpcode } from '../../transport/work.ts';
import { seededRandom } from './support/peer.ts';
import { pathTemplate } from './support/wire.ts';

const A = IpAddress.parse('192.0.2.1');
const B = IpAddress.parse('192.0.2.2');
const FIRST = 0xff_ff_f0;
/** Twice round, and some. */
const MESSAGES = 2 * 0x1_00_00_00 + 1000;
const DEPTH = 64;

function makeSide(qpn: number) {
  const pd = new ProtectionDomain(1);
  const keys = new KeyTable(seededRandom(qpn), 10);
  const cq = new CompletionQueue(4 * DEPTH, []);
  const counters = new PortCounters();
  const capabilities = { maxSendWr: DEPTH, maxRecvWr: DEPTH, maxSge: 1, maxInlineData: 8 };
  const qp = new RcQueuePair({ qpn, pd, keys, sendCq: cq, recvCq: cq }, capabilities, counters);
  return { qp, cq, counters, mr: keys.register(pd, new Uint8Array(8), { access: Access.LocalWrite, iova: 0n }) };
}

function connect(qp: RcQueuePair, destQpn: number, local: IpAddress, remote: IpAddress): void {
  qp.modify({ state: QpState.Init, access: 0 });
  const path = { template: pathTemplate(local, remote), local, remote };
  const answering = { maxDestRdAtomic: 1, minRnrTimer: 1 };
  qp.modify({ state: QpState.Rtr, path, destQpn, rqPsn: FIRST, mtu: 256, flowControl: true, ...answering });
  qp.modify({ state: QpState.Rts, sqPsn: FIRST, timeout: 14, retryCnt: 0, rnrRetry: 0, maxRdAtomic: 1 });
}

it('ACK-09 33 million messages wrap PSN, MSN and credits twice, and none is lost, repeated or out of order', () => {
  const a = makeSide(0x11);
  const b = makeSide(0x12);
  connect(a.qp, 0x12, A, B);
  connect(b.qp, 0x11, B, A);
  const writer = new FrameWriter(64, 512);
  const frame = new Frame();
  const wc = new WorkCompletion();
  const carry = (from: RcQueuePair, to: RcQueuePair): void => {
    while (from.pending) {
      writer.reset();
      from.transmit(0, writer);
      for (let i = 0; i < writer.count; i++) {
        const start = writer.starts[i] ?? 0;
        const end = start + (writer.lengths[i] ?? 0);
        if (parseFrame(writer.bytes, writer.view, start, end, Medium.Ip, frame) !== FrameStatus.Ok)
          throw new Error('lost');
        to.handleFrame(0, frame);
      }
    }
  };
  let posted = 0;
  let sent = 0;
  let received = 0;
  let completed = 0;
  const wrong: string[] = [];
  while (completed < MESSAGES && wrong.length === 0) {
    for (; posted < received + DEPTH; posted++) b.qp.postRecv({ wrId: posted, sges: [{ mr: b.mr }] });
    for (; sent < MESSAGES && sent < completed + DEPTH; sent++)
      a.qp.postSend({ wrId: sent, opcode: WrOpcode.SendWithImm, immData: sent });
    carry(a.qp, b.qp);
    carry(b.qp, a.qp);
    for (; b.cq.poll(wc); received++)
      if (wc.wrId !== received || wc.immData !== received || wc.status !== WcStatus.Success)
        wrong.push(`receive ${received}`);
    for (; a.cq.poll(wc); completed++)
      if (wc.wrId !== completed || wc.status !== WcStatus.Success) wrong.push(`send ${completed}`);
  }
  expect(wrong).toEqual([]);
  expect([received, completed]).toEqual([MESSAGES, MESSAGES]);
  expect([a.counters.retransmittedPkts, b.counters.sendRnrErr, b.counters.duplicateRequest]).toEqual([0, 0, 0]);
});
