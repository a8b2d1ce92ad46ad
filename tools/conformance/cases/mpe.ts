/** Cases of area MPE about FLUSH. ATOMIC WRITE is in mpe-atomic-write.ts. */
import { Op } from 'rocev2/packets';
import { atomicWrite, describePacket, flush, type Packet, pattern, sendOnly, writeOnly } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { ALL_ACCESS } from '../tester/connect.ts';
import { demand, NotApplicable } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { target } from './answers.ts';
import { answered, connectFlushable, FLUSH_ACCESS, flushAt, flushForm, withFethBits } from './flushes.ts';
import { badKeys, demandMemory, paint } from './memory.ts';
import { MPE_ATOMIC_WRITE_CASES } from './mpe-atomic-write.ts';

const MPE_FLUSH_CASES: readonly Case[] = [
  {
    rules: ['MPE-01'],
    needs: ['flush'],
    async run(t) {
      const form = await flushForm(t);
      for (const length of [1, 4, 64]) {
        const peer = await connectFlushable(t);
        peer.tx(form({ ...flushAt(peer, 0, 0, length), payload: pattern(length) }));
        // An empty READ would be answered just as a FLUSH is: here the sentinel is a WRITE.
        peer.tx(writeOnly({ psn: 0, ackReq: true, reth: target(peer, 0, 0) }));
        const { packet } = await peer.rx([
          { opcode: Op.Acknowledge, psn: 0, syndrome: 0x61 },
          { opcode: Op.Acknowledge, psn: 0, syndrome: 0x1f, msn: 1 },
        ]);
        t.note(`a FLUSH with payload is ${packet.syndrome === 0x61 ? 'refused' : 'dropped'}`);
      }
    },
  },
  {
    rules: ['MPE-02'],
    title: 'FLUSH',
    needs: ['flush'],
    psnSweep: true,
    async run(t) {
      const peer = await connectFlushable(t);
      for (const psn of [0, 1]) {
        peer.tx(flushAt(peer, psn, 0, 64));
        const { packet } = await peer.rx(answered(psn));
        demand(packet.payload?.length === 0, () => `an empty answer was expected, and ${describePacket(packet)} came`);
      }
    },
  },
  {
    rules: ['MPE-03'],
    needs: ['flush'],
    async run(t) {
      const form = await flushForm(t);
      for (const which of [0, 1]) {
        const peer = await connectFlushable(t);
        const { va, rkey } = peer.region;
        peer.tx(form(flush({ psn: 0, reth: { va, rkey: badKeys(rkey)[which] ?? 0, length: 0 } })));
        await peer.expectNak(0x62, 0);
      }
      const good = await connectFlushable(t);
      good.tx(form(flushAt(good, 0, 0, 0)));
      await good.rx(answered(0));
    },
  },
  {
    rules: ['MPE-04'],
    needs: ['host-control', 'flush'],
    async run(t) {
      const form = await flushForm(t);
      for (const placement of [2, 3]) {
        const peer = await connectFlushable(t, { access: [...FLUSH_ACCESS, 'flush-persistent'] });
        peer.tx(form(flush({ psn: 0, placement, reth: target(peer, 0, 64) })));
        await peer.expectNak(0x62, 0);
      }
      // What the queue pair itself does not grant is an invalid request, as other opcodes are.
      for (const [access, placement] of [
        [ALL_ACCESS, 1],
        [FLUSH_ACCESS, 2],
      ] as const) {
        const peer = await connectFlushable(t, { access });
        peer.tx(form(flush({ psn: 0, placement, reth: target(peer, 0, 64) })));
        await peer.expectNak([0x61, 0x62], 0);
      }
    },
  },
  {
    rules: ['MPE-05'],
    needs: ['flush'],
    async run(t) {
      const form = await flushForm(t);
      const peer = await connectFlushable(t);
      const { rkey } = peer.region;
      for (const [psn, reth] of [
        { va: 0n, rkey, length: 0xff_ff_ff_ff },
        { va: 0xff_ff_ff_ff_ff_ff_ff_ffn, rkey, length: 0 },
        { va: 0n, rkey, length: 0 },
      ].entries()) {
        peer.tx(form(flush({ psn, selectivity: 1, reth })));
        await peer.rx(answered(psn));
      }
      await peer.expectNextPsn(3, 4);
    },
  },
  {
    rules: ['MPE-06'],
    needs: ['flush'],
    async run(t) {
      const form = await flushForm(t);
      const whole = 8192;
      for (const [offset, length] of [
        [-1, 1],
        [0, whole + 1],
        [1, whole],
        [whole, 1],
      ] as const) {
        const peer = await connectFlushable(t, { regionBytes: whole });
        peer.tx(form(flushAt(peer, 0, offset, length)));
        await peer.expectNak(0x62, 0);
      }
      const good = await connectFlushable(t, { regionBytes: whole });
      good.tx(form(flushAt(good, 0, 0, whole)), form(flushAt(good, 1, whole - 1, 1)));
      await good.rxAll([answered(0), answered(1)]);
    },
  },
  {
    rules: ['MPE-07'],
    needs: ['flush'],
    psnSweep: true,
    async run(t) {
      const form = await flushForm(t);
      const peer = await connectFlushable(t);
      const one = form(flushAt(peer, 0, 0, 64));
      peer.tx(one);
      await peer.rx(answered(0));
      peer.tx(sendOnly({ psn: 1, ackReq: true, payload: pattern(8) }));
      await peer.expectAck(1);
      for (let i = 0; i < 3; i++) {
        peer.tx(one);
        await peer.rx(answered(0));
      }
      await peer.expectNextPsn(2, 3);
    },
  },
  {
    rules: ['MPE-08'],
    needs: ['host-control', 'flush'],
    async run(t) {
      const form = await flushForm(t);
      const peer = await connectFlushable(t);
      for (let i = 0; i < 8; i++) {
        const payload = pattern(peer.mtu, i + 1);
        const psn = 2 * i;
        peer.tx(
          writeOnly({ psn, payload, reth: target(peer, 0, payload.length) }),
          form(flushAt(peer, psn + 1, 0, payload.length)),
        );
        const { packet } = await peer.rx([answered(psn + 1), { opcode: Op.Acknowledge, psn }]);
        if (packet.opcode === Op.Acknowledge) await peer.rx(answered(psn + 1));
        await demandMemory(peer, 0, payload, 'when the FLUSH behind a WRITE is answered');
      }
    },
  },
  {
    rules: ['MPE-13'],
    needs: ['host-control', 'flush', 'atomic-write'],
    hazardous: true,
    async run(t) {
      const writer = await t.connect({ maxDestRdAtomic: 0 });
      writer.tx(atomicWrite({ psn: 0, payload: pattern(8), reth: target(writer, 0, 8) }));
      await writer.expectNak(0x61, 0);
      const form = await flushForm(t);
      const peer = await connectFlushable(t, { maxDestRdAtomic: 0 });
      peer.tx(form(flushAt(peer, 0, 0, 64)));
      const { packet } = await peer.rx([{ opcode: Op.Acknowledge, psn: 0, syndrome: 0x61 }, answered(0)]);
      if (packet.opcode !== Op.Acknowledge) t.variation('a FLUSH takes no responder resources');
    },
  },
  {
    rules: ['MPE-14'],
    title: 'FLUSH',
    needs: ['flush'],
    psnSweep: true,
    async run(t) {
      const form = await flushForm(t);
      const peer = await connectFlushable(t);
      await peer.expectNextPsn(0, 1);
      for (const psn of [1, 2, 3]) {
        peer.tx(form(flushAt(peer, psn, 0, 1000)));
        await peer.rx({ ...answered(psn), msn: psn + 1 });
      }
      await peer.expectNextPsn(4, 5);
    },
  },
  { rules: ['MPE-15'], hazardous: true, run: unknownOpcodes },
  { rules: ['MPE-16'], needs: ['flush'], run: fethValues },
];

export const MPE_CASES: readonly Case[] = [...MPE_FLUSH_CASES, ...MPE_ATOMIC_WRITE_CASES];

/** A device that does not have an opcode refuses it at the PSN that it expects, as any reserved one. */
async function unknownOpcodes(t: Tester): Promise<void> {
  t.need(t.dut.hostControl);
  const unknown = [...(t.has('flush') ? [] : [Op.Flush]), ...(t.has('atomic-write') ? [] : [Op.AtomicWrite])];
  if (unknown.length === 0) throw new NotApplicable('the device has FLUSH and ATOMIC WRITE');
  for (const opcode of unknown) {
    const peer = await t.connect();
    const before = await paint(peer, pattern(64));
    const reth = target(peer, 0, 8);
    const feth = { placement: 1, selectivity: 0 };
    const packet: Packet =
      opcode === Op.Flush ? { opcode, psn: 0, reth, feth } : { opcode, psn: 0, reth, payload: pattern(8, 9) };
    peer.tx(packet);
    await peer.expectFatalNak(0x61, 0);
    await demandMemory(peer, 0, before, `opcode 0x${opcode.toString(16)}, which the device does not know`);
  }
}

/** Reserved bits are ignored; a placement of none, placements and selectivities that are not defined are refused. */
async function fethValues(t: Tester): Promise<void> {
  const form = await flushForm(t);
  const peer = await connectFlushable(t);
  let psn = 0;
  for (const bit of [6, 7, 8, 15, 16, 23, 24, 31]) {
    peer.tx(form(withFethBits(flushAt(peer, psn, 0, 64), (1 << bit) >>> 0)));
    await peer.rx(answered(psn));
    psn += 1;
  }
  const values = [
    ...[0, 4, 5, 8, 15].map((placement) => ({ placement, selectivity: 0 })),
    ...[2, 3].map((selectivity) => ({ placement: 1, selectivity })),
  ];
  const taken: string[] = [];
  for (const { placement, selectivity } of values) {
    const other = await connectFlushable(t);
    other.tx(form(flush({ psn: 0, placement, selectivity, reth: target(other, 0, 64) })));
    const { packet } = await other.rx([{ opcode: Op.Acknowledge, psn: 0, syndrome: 0x61 }, answered(0)]);
    if (packet.opcode !== Op.Acknowledge) taken.push(`${placement}/${selectivity}`);
  }
  demand(taken.length === 0, `placement/selectivity ${taken.join(', ')} were to draw NAK 0x61, and are answered`);
}
