/**
 * Goal: a path MTU that changes in the middle of a connection is no finding, in the same life of its queue pairs or in
 * the next one; a packet of another size in the middle of a message is. Method: WRITEs and READs by hand, and queue
 * pairs that are reset and connected again.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import type { Analysis } from '../../../../pcap/analysis/types.ts';
import { readCapture } from '../../../../pcap/reader.ts';
import { play } from '../../../../tools/symptoms/scene.ts';
import { QpState } from '../../../../transport/qp-state.ts';
import { Script } from './script.ts';

/** Ids of findings, kinds of limits and events. */
const told = ({ findings, limits, events }: Analysis) => [
  ...findings.filter(({ id }) => id !== 'peer-restarted').map(({ id }) => id),
  ...limits.map(({ kind }) => kind),
  ...events.map(({ kind }) => kind),
];

/** WRITEs and READs of two full packets and 100 bytes with these path MTUs, one after the other. */
class Exchange {
  readonly script = new Script();
  #psn = 0;
  #msn = 0;

  write(mtu: number): this {
    const psn = this.#psn;
    this.script
      .a(Op.WriteFirst, psn, { payload: mtu, length: 2 * mtu + 100 })
      .a(Op.WriteMiddle, psn + 1, { payload: mtu })
      .a(Op.WriteLast, psn + 2)
      .ack(psn + 2, { msn: ++this.#msn });
    this.#psn += 3;
    return this;
  }

  /** Of so many bytes, answered with this path MTU. */
  read(mtu: number, bytes = 9000): this {
    const psn = this.#psn;
    const packets = Math.ceil(bytes / mtu);
    this.script.a(Op.ReadRequest, psn, { length: bytes });
    for (let at = 0; at < packets; at++) {
      const last = at === packets - 1;
      const opcode = at === 0 ? Op.ReadResponseFirst : last ? Op.ReadResponseLast : Op.ReadResponseMiddle;
      this.script.b(opcode, psn + at, { payload: last ? bytes - at * mtu : mtu, msn: this.#msn + 1 });
    }
    this.#msn++;
    this.#psn += packets;
    return this;
  }
}

describe('a path MTU that changes', () => {
  it.each([
    [1024, 512],
    [512, 1024],
    [4096, 256],
    [256, 2048],
  ])('from %i to %i within a life is no finding, and nothing is missing', (one, two) => {
    const both = new Exchange();
    const reads = new Exchange();
    const writesFirst = new Exchange();
    for (const mtu of [one, two, one]) {
      for (let i = 0; i < 20; i++) both.read(mtu).write(mtu);
      for (let i = 0; i < 20; i++) reads.read(mtu);
      for (let i = 0; i < 20; i++) writesFirst.write(mtu).read(mtu);
    }
    for (const { script } of [both, reads, writesFirst]) expect(told(script.analyze())).toEqual([]);
  });

  it('counts for READs that are requested together, of an end that has sent with the old one', () => {
    const { script } = new Exchange().write(1024).read(1024, 2148).read(512, 1100);
    script.a(Op.ReadRequest, 9, { length: 1100 }).a(Op.ReadRequest, 12, { length: 1100 });
    for (const psn of [9, 12]) {
      script.b(Op.ReadResponseFirst, psn, { payload: 512, msn: psn / 3 + 1 });
      script.b(Op.ReadResponseMiddle, psn + 1, { payload: 512 });
      script.b(Op.ReadResponseLast, psn + 2, { payload: 76, msn: psn / 3 + 1 });
    }
    expect(told(script.a(Op.SendOnly, 15).ack(15, { msn: 6 }).analyze())).toEqual([]);
  });

  it('does not change a READ by a copy of an answer to an older one', () => {
    const exchange = new Exchange().read(1024, 2148).read(512, 2148);
    exchange.script.b(Op.ReadResponseFirst, 0, { msn: 1 });
    const { conversations } = exchange.read(512, 2148).script.analyze();
    expect(conversations[0]?.ends[0].requester).toMatchObject({ unseenPackets: 0, retransmittedPackets: 0 });
  });

  it('is one within the answers to a READ, and within a WRITE', () => {
    const read = new Exchange().read(1024, 2148).script;
    read.a(Op.ReadRequest, 3, { length: 2148 }).b(Op.ReadResponseFirst, 3, { msn: 2 });
    read.b(Op.ReadResponseMiddle, 4, { payload: 512 }).b(Op.ReadResponseLast, 5, { payload: 100, msn: 2 });
    expect(told(read.analyze())).toEqual(['rule/read-response-length']);
    const write = new Exchange().write(1024).script;
    write.a(Op.WriteFirst, 3, { length: 2148 }).a(Op.WriteMiddle, 4, { payload: 512 }).a(Op.WriteLast, 5);
    expect(told(write.analyze())).toContain('rule/full-packets');
  });

  it('is one where the answers begin with what is no path MTU', () => {
    const script = new Exchange().read(1024, 2148).script;
    script.a(Op.ReadRequest, 3, { length: 2148 }).b(Op.ReadResponseFirst, 3, { msn: 2, payload: 1000 });
    expect(told(script.analyze())).toEqual(['rule/read-response-length']);
  });

  it.each([0, 4])('is none of %i bytes: what is requested next is not taken for a part of that READ', (payload) => {
    const script = new Exchange().read(1024, 2148).script;
    script.a(Op.ReadRequest, 3, { length: 2148 }).b(Op.ReadResponseFirst, 3, { msn: 2, payload });
    script.b(Op.ReadResponseMiddle, 4).b(Op.ReadResponseLast, 5, { payload: 100, msn: 2 });
    for (let psn = 6; psn < 26; psn++) if (psn !== 15) script.a(Op.SendOnly, psn);
    script.nak(15).sends(15, 25).ack(25, { msn: 22 });
    const { findings, conversations } = script.analyze();
    expect(findings.map(({ id }) => id)).toContain('rule/read-response-length');
    expect(conversations[0]?.ends[0].requester).toMatchObject({
      ...{ lostPackets: 1, retransmittedPackets: 11, nextPsn: 24 },
    });
  });

  it.each([
    [4096, 1024, true],
    [1024, 4096, true],
    [1024, 1024, true],
    [4096, 1024, false],
  ])(
    'from %i to %i with a new life of the queue pairs is no finding; both ends request: %s',
    async (one, two, both) => {
      const capture = await play({ seed: 5 }, async (stage) => {
        const [left, right] = [stage.host('A'), stage.host('B')];
        const { a, b } = await stage.connect(left, right, { mtu: one });
        const traffic = async () => {
          for (let i = 0; i < 20; i++) {
            await Promise.all([a.write(b, 9000), both ? b.write(a, 9000) : undefined, a.read(b, 9000)]);
          }
        };
        await traffic();
        const ends = [
          [a, b, [5000, 7000]],
          [b, a, [7000, 5000]],
        ] as const;
        for (const [end] of ends) await end.qp.modify({ state: QpState.Reset });
        for (const [end, peer, psns] of ends) await stage.bringUp(end, peer, { mtu: two, psns });
        await traffic();
      });
      const analyzer = new Analyzer();
      for (const packet of readCapture(capture)) analyzer.packet(packet);
      const analysis = analyzer.finish();
      expect(told(analysis)).toEqual([]);
      const [first, second] = analysis.conversations;
      expect([analysis.conversations.length, second?.previousLife]).toEqual([2, first?.id]);
      expect(analysis.conversations.map(({ ends }) => Math.max(...ends.map(({ pathMtu }) => pathMtu)))).toEqual([
        one,
        two,
      ]);
    },
  );
});
