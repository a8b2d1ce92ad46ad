/**
 * Goal: a datagram arrives as it was sent or not at all, once for each copy the wire made of it, and each that does not
 * is counted. Method: random datagrams to a queue pair with few and small receives; a fate for each, drawn by
 * fast-check. FC_RUNS sets the runs.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { GRH_BYTES } from '../../packets/grh.ts';
import { AddressHandle } from '../../transport/address-handle.ts';
import { CompletionQueue } from '../../transport/completion-queue.ts';
import { PortCounters } from '../../transport/counters.ts';
import { KeyTable } from '../../transport/key-table.ts';
import { Access, ProtectionDomain } from '../../transport/memory.ts';
import { QpState } from '../../transport/qp-state.ts';
import { UdQueuePair } from '../../transport/ud-queue-pair.ts';
import { WorkCompletion, WrOpcode } from '../../transport/work.ts';
import { pattern } from '../transport/support/packets.ts';
import { fcRuns, seededRandom } from '../transport/support/peer.ts';
import { PEER_IP, pathTemplate, SUBJECT_IP } from '../transport/support/wire.ts';
import { carry, type Fate, fate } from './support/unreliable-wire.ts';

const MTU = 512;
const QKEY = 0x0102_0304;

interface Scenario {
  readonly datagrams: readonly { readonly length: number; readonly qkey: number }[];
  readonly fates: readonly Fate[];
  /** Sizes of the receives, the 40 bytes included. */
  readonly receives: readonly number[];
}

const scenario = fc.record<Scenario>({
  datagrams: fc.array(
    fc.record({ length: fc.nat(MTU + 20), qkey: fc.constantFrom(QKEY, QKEY, QKEY, 0x8000_0000, QKEY + 1) }),
    { minLength: 1, maxLength: 20 },
  ),
  fates: fc.array(fate({ loss: 2, duplicate: 2, reorder: 2, damage: 2 }), { minLength: 1, maxLength: 20 }),
  receives: fc.array(fc.oneof(fc.constant(GRH_BYTES + MTU), fc.nat(GRH_BYTES + MTU)), { maxLength: 30 }),
});

class End {
  readonly pd = new ProtectionDomain(1);
  readonly keys = new KeyTable(seededRandom(7), 1000);
  readonly counters = new PortCounters();
  readonly cq = new CompletionQueue(4096, []);
  readonly qp: UdQueuePair;

  constructor(qpn: number) {
    const { pd, keys, cq } = this;
    const capabilities = { maxSendWr: 64, maxRecvWr: 64, maxSge: 1, maxInlineData: MTU + 20 };
    this.qp = new UdQueuePair({ qpn, pd, keys, sendCq: cq, recvCq: cq }, capabilities, this.counters, MTU);
    this.qp.modify({ state: QpState.Init, qkey: QKEY });
    this.qp.modify({ state: QpState.Rtr });
    this.qp.modify({ state: QpState.Rts, sqPsn: 0xff_ff_fe });
  }
}

function run({ datagrams, fates, receives }: Scenario): void {
  const [sender, receiver] = [new End(0x11), new End(0x22)];
  const { counters } = receiver;
  const path = { template: pathTemplate(SUBJECT_IP, PEER_IP), local: SUBJECT_IP, remote: PEER_IP };
  const ah = new AddressHandle(sender.pd, path);
  const buffers = receives.map((size) =>
    receiver.keys.register(receiver.pd, new Uint8Array(size), { access: Access.LocalWrite, iova: 0n }),
  );
  buffers.forEach((mr, wrId) => {
    receiver.qp.postRecv({ wrId, sges: [{ mr }] });
  });
  datagrams.forEach(({ length, qkey }, i) => {
    const where = { ah, remoteQpn: 0x22, remoteQkey: qkey };
    const opcode = WrOpcode.SendWithImm;
    sender.qp.postSend({ wrId: i, opcode, inline: pattern(length, i), immData: i, signaled: false, ...where });
  });
  const onWire = datagrams.flatMap(({ length }, i) => (length > MTU ? [] : [i]));
  expect(sender.counters.oversizedSend).toBe(0);
  const arrived = datagrams.map(() => 0);
  const delivered = datagrams.map(() => 0);
  const wc = new WorkCompletion();
  const arrivals = carry(sender.qp, receiver.qp, fates, (packet) => {
    const number = onWire[packet] ?? -1;
    arrived[number] = (arrived[number] ?? 0) + 1;
    while (receiver.cq.poll(wc)) {
      const { immData, byteLen, srcQpn } = wc;
      const { length = -1, qkey } = datagrams[immData] ?? {};
      expect([immData, byteLen, srcQpn]).toEqual([number, GRH_BYTES + length, 0x11]);
      expect(qkey).not.toBe(QKEY + 1);
      const bytes = buffers[wc.wrId]?.bytes;
      expect(bytes?.subarray(GRH_BYTES, byteLen)).toEqual(pattern(length, immData));
      expect([bytes?.[20], bytes?.[39]]).toEqual([0x45, PEER_IP.w3 & 0xff]);
      delivered[immData] = (delivered[immData] ?? 0) + 1;
    }
  });
  const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0);
  delivered.forEach((times, i) => {
    expect(times).toBeLessThanOrEqual(arrived[i] ?? 0);
  });
  const { qkeyViolation, noReceive, bufferTooSmall } = counters;
  expect(sum(arrived)).toBe(arrivals.filter(({ sound }) => sound).length);
  expect(sum(delivered) + qkeyViolation + noReceive + bufferTooSmall).toBe(sum(arrived));
  expect(sender.counters.oversizedSend).toBe(datagrams.length - onWire.length);
  expect([sender.qp.state, receiver.qp.state]).toEqual([QpState.Rts, QpState.Rts]);
}

it('datagrams arrive as they were sent or not at all, and every one that reached the queue pair is accounted for', () => {
  fc.assert(fc.property(scenario, run), { numRuns: fcRuns(400) });
});
