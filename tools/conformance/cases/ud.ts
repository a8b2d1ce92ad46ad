/**
 * Area UD: Unreliable datagram. Whatever is wrong with a datagram is silent and costs no more than itself.
 * Sources: ref:conformance#UD, ref:wire#6.
 */
import { defined, OPCODES, Op, readGrh, Service } from 'rocev2/packets';
import { datagram, pattern, request, sendOnly, writeOnly } from 'rocev2/packets/kit';
import { GSI_QKEY } from 'rocev2/packets/management';
import type { Case } from '../tester/case.ts';
import { DUT_QKEY } from '../tester/connect.ts';
import { demand } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { DatagramPeer } from './datagrams.ts';
import { flip } from './edits.ts';
import { GsiPeer } from './gsi.ts';
import { RequestSequence, versionsOf } from './line.ts';

export const UD_CASES: readonly Case[] = [
  { rules: ['UD-01'], needs: ['host-control', 'ud'], run: wrongQkey },
  { rules: ['UD-02'], needs: ['host-control', 'ud'], run: controlledQkey },
  { rules: ['UD-03'], needs: ['host-control', 'ud'], run: headerArea },
  { rules: ['UD-04'], needs: ['host-control', 'ud'], run: byteLen },
  { rules: ['UD-05'], needs: ['host-control', 'ud'], hazardous: true, run: tooLarge },
  { rules: ['UD-06'], needs: ['host-control', 'ud'], run: anyPsn },
  { rules: ['UD-07'], needs: ['host-control', 'ud'], hazardous: true, run: otherOpcodes },
  { rules: ['UD-08'], needs: ['host-control', 'ud'], run: sourceQpn },
  { rules: ['UD-10'], title: 'RC to UD', needs: ['host-control', 'ud'], run: reliableToDatagram },
  { rules: ['UD-10'], title: 'UD to RC', run: datagramToReliable },
  { rules: ['UD-11'], run: qkeyOfQp1 },
  { rules: ['UD-13'], needs: ['host-control', 'ud'], run: trafficClass },
  { rules: ['UD-14'], needs: ['host-control', 'ud'], hazardous: true, run: allFaults },
];

async function wrongQkey(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const end = await DatagramPeer.open(t, { version });
    const wrong = [0, end.qkey ^ 1, end.qkey ^ 0x8000_0000, GSI_QKEY, 0xff_ff_ff_ff];
    for (const qkey of wrong) await end.ignores(end.message(8, { qkey: qkey >>> 0 }));
  }
}

async function controlledQkey(t: Tester): Promise<void> {
  const end = await DatagramPeer.open(t);
  const plain = await end.sends(16, {}, 0x0123_4567);
  demand(plain.packet.qkey === 0x0123_4567, 'the Q_Key of the work request is not on the wire');
  const { packet } = await end.sends(16, {}, 0x8123_4567);
  demand(
    packet.qkey === end.qkey,
    () => `the wire shows Q_Key 0x${packet.qkey?.toString(16)}, and not that of the queue pair`,
  );
}

async function headerArea(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const end = await DatagramPeer.open(t, { version });
    const { route } = end.peer;
    await end.delivers(end.message(20, { hopLimit: 61 }));
    const area = await end.headerArea();
    const view = new DataView(area.buffer, area.byteOffset);
    if (version === 6) {
      const { sourceGid, destinationGid, nextHeader, payloadLength, hopLimit, ...grh } = readGrh(view, 0);
      demand(grh.version === 6, `the header area begins with version ${grh.version}`);
      demand(`${sourceGid}` === `${route.source}`, `the source in the header area is ${sourceGid}`);
      demand(`${destinationGid}` === `${route.destination}`, `the destination in the header area is ${destinationGid}`);
      demand(
        nextHeader === 17 && hopLimit === 61,
        `next header ${nextHeader}, hop limit ${hopLimit} in the header area`,
      );
      demand(payloadLength === 8 + 12 + 8 + 20 + 4, `payload length ${payloadLength} in the header area`);
      continue;
    }
    demand(
      view.getUint8(20) === 0x45,
      `byte 20 of the header area is 0x${view.getUint8(20).toString(16)}, and no IPv4 header`,
    );
    const ends = [32, 36].map((at) => Array.from(area.subarray(at, at + 4)).join('.'));
    demand(ends[0] === `${route.source}`, `the source in the header area is ${ends[0]}`);
    demand(ends[1] === `${route.destination}`, `the destination in the header area is ${ends[1]}`);
    demand(
      view.getUint8(29) === 17 && view.getUint8(28) === 61,
      'protocol or TTL in the header area is not what was sent',
    );
  }
}

async function byteLen(t: Tester): Promise<void> {
  const end = await DatagramPeer.open(t);
  for (const length of [0, 1, 2, 3, 4, 5, 100, 255, 256]) await end.delivers(end.message(length));
}

/** Buffers of 100 bytes: 60 of a message fit. */
async function tooLarge(t: Tester): Promise<void> {
  const end = await DatagramPeer.open(t, { receiveBytes: 100 });
  for (const length of [61, 64, 200]) {
    end.peer.tx(end.message(length));
    await end.delivers(end.message(60), 100);
  }
  await end.peer.expectState('RTS');
}

async function anyPsn(t: Tester): Promise<void> {
  const end = await DatagramPeer.open(t);
  const psns = [
    0,
    0,
    0x7f_ff_ff,
    1,
    0xff_ff_ff,
    0x80_00_00,
    5,
    ...Array.from({ length: 8 }, () => t.random.below(1 << 24)),
  ];
  for (const psn of psns) await end.delivers(end.message(12, { psn }));
}

async function otherOpcodes(t: Tester): Promise<void> {
  const end = await DatagramPeer.open(t);
  const codes = OPCODES.filter(
    ({ service, code }) => service === Service.Ud && code !== Op.UdSendOnly && code !== Op.UdSendOnlyImm,
  );
  // Where the table knows no headers, the DETH is part of the payload.
  const payload = Uint8Array.from([
    ...[24, 16, 8, 0].map((shift) => (end.qkey >>> shift) & 0xff),
    0,
    0,
    0,
    9,
    ...pattern(24),
  ]);
  await end.ignores(...codes.map(({ code }) => request(code, { psn: 0, payload })));
  await end.delivers(end.message(16));
  await end.delivers(end.message(16, { opcode: Op.UdSendOnlyImm, imm: 0x1234_5678 }));
}

async function sourceQpn(t: Tester): Promise<void> {
  const end = await DatagramPeer.open(t);
  for (const srcQpn of [0, 2, 0x12_34_56, 0xff_ff_fe, 0xff_ff_ff]) {
    const { srcQp } = await end.delivers(end.message(4, { srcQpn }));
    demand(srcQp === srcQpn, `a datagram of queue pair ${srcQpn} is said to be of ${srcQp}`);
  }
}

async function reliableToDatagram(t: Tester): Promise<void> {
  const end = await DatagramPeer.open(t);
  const { va, rkey } = end.peer.region;
  const payload = pattern(8);
  await end.ignores(
    sendOnly({ psn: 0, ackReq: true, payload }),
    writeOnly({ psn: 0, ackReq: true, payload, reth: { va, rkey, length: 8 } }),
  );
  const stored = await end.peer.memory(0, 8);
  demand(
    stored.every((byte) => byte === 0),
    'a WRITE to a UD queue pair was stored',
  );
}

async function datagramToReliable(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t);
  const { qpn } = line.peer;
  const of = (psn: number, imm?: number) =>
    datagram({ psn, qkey: DUT_QKEY, srcQpn: qpn, payload: pattern(8), ...defined({ imm }) });
  await line.ignores([(psn) => of(psn), (psn) => of(psn, 7), (psn) => ({ ...of(psn), ackReq: true })]);
}

async function qkeyOfQp1(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const wrong = [0, 0x80_00_00_00, 0x01_00_00, 0x80_01_00_01, DUT_QKEY].map((qkey) => ({ qkey }));
    await GsiPeer.with(t, (gsi) => gsi.ignores(wrong), version);
  }
}

async function trafficClass(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const end = await DatagramPeer.open(t, { version });
    const { sighting } = await end.sends(16, { trafficClass: TRAFFIC_CLASS });
    demand(
      sighting.ip.trafficClass >> 2 === TRAFFIC_CLASS >> 2,
      `the address handle has traffic class 0xa8, and the wire 0x${sighting.ip.trafficClass.toString(16)}`,
    );
    await end.delivers(end.message(16, { trafficClass: TRAFFIC_CLASS }));
    const area = await end.headerArea();
    const view = new DataView(area.buffer, area.byteOffset);
    const arrived = version === 4 ? view.getUint8(21) : (view.getUint32(0) >>> 20) & 0xff;
    demand(arrived >> 2 === TRAFFIC_CLASS >> 2, `the header area has traffic class 0x${arrived.toString(16)}`);
  }
}

/** One after the other, each alone and then all at once: the queue pair never notices. */
async function allFaults(t: Tester): Promise<void> {
  const end = await DatagramPeer.open(t);
  const { va, rkey } = end.peer.region;
  const faults = [
    end.message(8, { qkey: end.qkey ^ 4 }),
    end.message(8, { pkey: 0x12_34 }),
    end.message(8, { spoil: flip(({ icrc }) => icrc, 0), note: 'ICRC wrong' }),
    end.message(8, { tver: 2 }),
    end.message(2000),
    end.message(8, { destQpn: end.peer.dutQpn ^ 0x10_00_00 }),
    writeOnly({ psn: 0, ackReq: true, payload: pattern(8), reth: { va, rkey, length: 8 } }),
    sendOnly({ psn: 0, ackReq: true, payload: pattern(8) }),
  ];
  for (const fault of faults) await end.ignores(fault);
  await end.ignores(...faults);
  await end.peer.expectState('RTS');
}

const TRAFFIC_CLASS = 0xa8;
