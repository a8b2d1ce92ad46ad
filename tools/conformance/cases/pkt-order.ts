/**
 * Area PKT, third part: what a packet with more than one fault draws. Which fault a device finds first is its own
 * choice, but for this: what is answered by silence comes before what is answered by a NAK.
 * Sources: ref:conformance#PKT-20, PKT-21.
 */
import {
  type Packet,
  pattern,
  request,
  sendFirst,
  sendLast,
  sendMiddle,
  sendOnly,
  writeOnly,
  writeOnlyImm,
} from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import type { TesterConnectOptions } from '../tester/connect.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { neighbourOf } from './addresses.ts';
import { flip } from './edits.ts';
import { type MakePacket, RequestSequence } from './line.ts';

export const PKT_ORDER_CASES: readonly Case[] = [
  { rules: ['PKT-20'], run: silenceFirst },
  { rules: ['PKT-20'], title: 'reserved opcodes', hazardous: true, run: silenceBeforeReserved },
  { rules: ['PKT-21'], run: twoFaults },
];

async function silenceFirst(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t);
  const silent = silentFaults(line.peer);
  const { va, rkey } = line.peer.region;
  const loud: readonly [string, MakePacket][] = [
    [
      'wrong rkey',
      (psn) => writeOnly({ psn, ackReq: true, payload: pattern(8), reth: { va, rkey: rkey ^ WRONG, length: 8 } }),
    ],
    ['MIDDLE of nothing', (psn) => sendMiddle({ psn, ackReq: true, payload: pattern(256) })],
    ['too long', (psn) => sendOnly({ psn, ackReq: true, payload: pattern(260) })],
    ['future PSN', (psn) => sendOnly({ psn: psn + 9, ackReq: true, payload: pattern(8) })],
    [
      'out of range',
      (psn) => writeOnly({ psn, ackReq: true, payload: pattern(8), reth: { va: va - 16n, rkey, length: 8 } }),
    ],
  ];
  await line.ignores(
    loud.flatMap(([what, make]) =>
      silent.map(
        ([fault, more]): MakePacket =>
          (psn) => ({ ...make(psn), ...more, note: `${fault}, ${what}` }),
      ),
    ),
  );
  await line.accepts(line.write(pattern(8)));
}

async function silenceBeforeReserved(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t);
  const silent = silentFaults(line.peer);
  await line.ignores(
    [0x15, 0x1a, 0x1f].flatMap((code) =>
      silent.map(
        ([note, more]): MakePacket =>
          (psn) => ({ ...request(code, { psn, ackReq: true, payload: pattern(64) }), ...more, note }),
      ),
    ),
  );
  await line.accepts(line.write(pattern(8)));
}

/** Faults that make a packet vanish, whatever else it is. */
function silentFaults({ route }: TesterPeer): readonly [string, Partial<Packet>][] {
  return [
    ['ICRC wrong', { spoil: flip(({ icrc }) => icrc + 1, 3) }],
    ['foreign P_Key', { pkey: 0x12_34 }],
    ['foreign source', { source: neighbourOf(`${route.source}`) }],
    ['transport version 1', { tver: 1 }],
  ];
}

/** A packet with two faults: how the queue pair has to be, what goes before, and what each fault draws. */
interface Pair {
  readonly faults: string;
  readonly options?: TesterConnectOptions;
  /** A SEND is open, so the packet is the second. */
  readonly open?: boolean;
  readonly make: (psn: number, peer: TesterPeer) => Packet;
  readonly answers: readonly number[];
}

const LAST_OF_NOTHING = (psn: number): Packet => sendLast({ psn, ackReq: true, payload: pattern(8) });
const RNR: readonly number[] = Array.from({ length: 32 }, (_, timer) => 0x20 | timer);
const NO_WRITE: TesterConnectOptions = { access: ['local-write', 'remote-read'] };
const NO_RECEIVE: TesterConnectOptions = { receives: 0 };
const write = (psn: number, { region: { va, rkey } }: TesterPeer, xor = 0, length = 8): Packet =>
  writeOnly({ psn, ackReq: true, payload: pattern(8), reth: { va, rkey: rkey ^ xor, length } });
const WRONG = 0x5a_5a_00;

/**
 * Opcode order, right of access, no receive, length, rkey: each with each. Where a right is missing some devices say
 * 0x62.
 */
const PAIRS: readonly Pair[] = [
  { faults: 'order and access', options: NO_WRITE, open: true, make: write, answers: [0x61, 0x62] },
  { faults: 'order and no receive', options: NO_RECEIVE, make: LAST_OF_NOTHING, answers: [0x61, ...RNR] },
  {
    faults: 'order and length',
    make: (psn) => sendLast({ psn, ackReq: true, payload: pattern(260) }),
    answers: [0x61],
  },
  { faults: 'order and rkey', open: true, make: (psn, peer) => write(psn, peer, WRONG), answers: [0x61, 0x62] },
  {
    faults: 'access and no receive',
    options: { ...NO_WRITE, ...NO_RECEIVE },
    make: (psn, { region: { va, rkey } }) =>
      writeOnlyImm({ psn, ackReq: true, payload: pattern(8), reth: { va, rkey, length: 8 }, imm: 1 }),
    answers: [0x61, 0x62, ...RNR],
  },
  {
    faults: 'access and length',
    options: NO_WRITE,
    make: (psn, peer) => write(psn, peer, 0, 9),
    answers: [0x61, 0x62],
  },
  { faults: 'access and rkey', options: NO_WRITE, make: (psn, peer) => write(psn, peer, WRONG), answers: [0x61, 0x62] },
  {
    faults: 'no receive and length',
    options: NO_RECEIVE,
    make: (psn) => sendOnly({ psn, ackReq: true, payload: pattern(260) }),
    answers: [0x61, ...RNR],
  },
  {
    faults: 'no receive and rkey',
    options: NO_RECEIVE,
    make: (psn, { region: { va, rkey } }) =>
      writeOnlyImm({ psn, ackReq: true, payload: pattern(8), reth: { va, rkey: rkey ^ WRONG, length: 8 }, imm: 1 }),
    answers: [0x62, ...RNR],
  },
  { faults: 'length and rkey', make: (psn, peer) => write(psn, peer, WRONG, 9), answers: [0x61, 0x62] },
];

async function twoFaults(t: Tester): Promise<void> {
  for (const { faults, options = {}, open = false, make, answers } of PAIRS) {
    const peer = await t.connect(options);
    const psn = open ? 1 : 0;
    if (open) peer.tx(sendFirst({ psn: 0, payload: pattern(256) }));
    peer.tx({ ...make(psn, peer), note: faults });
    const { packet } = await peer.expectNak(answers, psn);
    // One answer and no second; a NAK that is not fatal leaves the queue pair as it was.
    if ((packet.syndrome ?? 0) >= 0x60) await peer.expectDead(psn);
    else await peer.expectSilence();
    t.note(`${faults}: 0x${(packet.syndrome ?? 0).toString(16)}`);
  }
}
