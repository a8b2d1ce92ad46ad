/** Cases of area KEY that the wire alone decides: keys that open nothing, bounds, and what a NAK of them says. */
import { Op } from 'rocev2/packets';
import {
  fetchAdd,
  type Packet,
  pattern,
  readOnly,
  readRequest,
  readResponses,
  sendFirst,
  sendMiddle,
  sendOnly,
  writeFirst,
  writeMiddle,
  writeOnly,
  writeOnlyImm,
  writePackets,
} from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { knownKinds } from './answers.ts';
import { KEY_REGION_CASES } from './key-regions.ts';
import { KEY_WINDOW_CASES } from './key-windows.ts';
import { badKeys, demandMemory, paint, setWord } from './memory.ts';

const KEY_WIRE_CASES: readonly Case[] = [
  {
    rules: ['KEY-01'],
    async run(t) {
      for (const kind of knownKinds(t, 'READ', 'WRITE', 'WRITE FIRST', 'FETCH ADD')) {
        for (const which of [0, 1]) {
          const peer = await t.connect();
          const before = await paint(peer, pattern(512));
          const rkey = badKeys(peer.region.rkey)[which] ?? 0;
          peer.tx(requestWith(kind, peer, { rkey, va: peer.region.va, psn: 0 }));
          await peer.expectFatalNak(0x62, 0);
          await demandMemory(peer, 0, before, `${kind} with a key that opens nothing`);
          if (t.dut.hostControl !== undefined) await peer.expectState('ERR');
        }
      }
    },
  },
  {
    rules: ['KEY-04'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      let psn = 0;
      for (const rkey of [0, 0xff_ff_ff_ff]) {
        const reth = { va: 0x1235n, rkey, length: 0 };
        peer.tx(writeOnly({ psn, ackReq: true, reth }));
        await peer.expectAck(psn, psn + 1);
        psn += 1;
        peer.tx(writeOnlyImm({ psn, ackReq: true, reth, imm: 7 }));
        await peer.expectAck(psn, psn + 1);
        psn += 1;
        peer.tx(readRequest({ psn, ackReq: true, reth }));
        await peer.rx(readOnly({ psn, msn: psn + 1, payload: new Uint8Array(0) }));
        psn += 1;
      }
      await peer.expectNextPsn(psn, psn + 1);
    },
  },
  {
    rules: ['KEY-05'],
    async run(t) {
      const n = 16;
      const far = 1n << 40n;
      const places = (base: bigint, length: bigint) =>
        [base - 1n, base - BigInt(n), base + length - BigInt(n) + 1n, base + length, base + far] as const;
      for (const kind of ['READ', 'WRITE', 'WRITE FIRST'] as const) {
        for (const i of places(0n, 0n).keys()) {
          const peer = await t.connect();
          const before = await paint(peer, pattern(peer.region.length));
          const length = kind === 'WRITE FIRST' ? 512 : n;
          // The last byte of what a longer message names lies just as far outside.
          const place = places(peer.region.va, BigInt(peer.region.length))[i] ?? 0n;
          const va = place < peer.region.va ? place : place - BigInt(length - n);
          peer.tx(requestWith(kind, peer, { rkey: peer.region.rkey, va, psn: 0, length }));
          await peer.expectNak(0x62, 0);
          await demandMemory(peer, 0, before, `${kind} outside the region`);
        }
      }
      for (const at of t.has('atomics') ? [-8n, 0n] : []) {
        const peer = await t.connect();
        const { va, rkey, length } = peer.region;
        peer.tx(fetchAdd({ psn: 0, va: at < 0n ? va + at : va + BigInt(length), rkey, add: 1n }));
        await peer.expectFatalNak(0x62, 0);
      }
    },
  },
  {
    rules: ['KEY-06'],
    hazardous: true,
    async run(t) {
      const va = 0xff_ff_ff_ff_ff_ff_ff_f8n;
      for (const kind of knownKinds(t, 'READ', 'WRITE', 'FETCH ADD')) {
        for (const length of kind === 'FETCH ADD' ? [8] : [8, 16]) {
          const peer = await t.connect();
          peer.tx(requestWith(kind, peer, { rkey: peer.region.rkey, va, psn: 0, length }));
          await peer.expectNak(0x62, 0);
        }
      }
      const alive = await t.connect();
      await alive.expectNextPsn(0, 1);
    },
  },
  {
    rules: ['KEY-12'],
    async run(t) {
      const peer = await t.connect();
      const { va, rkey, length, mtu } = { ...peer.region, mtu: peer.mtu };
      const before = await paint(peer, pattern(length));
      const data = pattern(3 * mtu, 9);
      peer.tx(...writePackets({ psn: 0, data, va: va + BigInt(length - data.length + 1), rkey, mtu }));
      await peer.expectFatalNak(0x62, 0);
      await demandMemory(peer, 0, before, 'a WRITE whose last byte lies outside');
    },
  },
  {
    rules: ['KEY-17'],
    needs: ['atomics'],
    async run(t) {
      for (const which of [0, 1]) {
        const peer = await t.connect();
        const { va, rkey } = peer.region;
        peer.tx(fetchAdd({ psn: 0, va: va + 3n, rkey: badKeys(rkey)[which] ?? 0, add: 1n }));
        const { packet } = await peer.expectNak([0x61, 0x62], 0);
        if (packet.syndrome === 0x62)
          t.variation('of a misaligned ATOMIC with a bad key the key is named: NAK 0x62 instead of 0x61');
      }
    },
  },
  { rules: ['KEY-18'], psnSweep: true, run: nakPsns },
];

export const KEY_CASES: readonly Case[] = [...KEY_WIRE_CASES, ...KEY_REGION_CASES, ...KEY_WINDOW_CASES];

type Kind = 'READ' | 'WRITE' | 'WRITE FIRST' | 'FETCH ADD';

function requestWith(
  kind: Kind,
  { mtu }: TesterPeer,
  {
    rkey,
    va,
    psn,
    length = kind === 'WRITE FIRST' ? 2 * mtu : 64,
  }: Pick<Packet, 'psn'> & {
    rkey: number;
    va: bigint;
    length?: number;
  },
): Packet {
  const reth = { va, rkey, length };
  if (kind === 'READ') return readRequest({ psn, reth });
  if (kind === 'WRITE') return writeOnly({ psn, ackReq: true, reth, payload: pattern(length, 5) });
  if (kind === 'WRITE FIRST') return writeFirst({ psn, ackReq: true, reth, payload: pattern(mtu, 5) });
  return fetchAdd({ psn, va, rkey, add: 1n });
}

/** Which PSN a NAK names: for each, what goes before, the request that is refused, and with which NAK and PSN. */
async function nakPsns(t: Tester): Promise<void> {
  for (const [what, syndrome, psn, packets] of t.has('atomics') ? [...refusals, badAtomic] : refusals) {
    const peer = await t.connect();
    await setWord(peer, 0, 0n);
    const stimulus = packets(peer);
    t.note(what);
    peer.tx(...stimulus);
    await answersBefore(peer, stimulus, psn);
    await peer.expectFatalNak(syndrome, psn);
  }
}

/** READs that are answered before the refusal; ACKs may come or not, and `expectNak` passes over them. */
async function answersBefore(peer: TesterPeer, packets: readonly Packet[], refused: number): Promise<void> {
  for (const { opcode, psn, reth } of packets) {
    if (opcode !== Op.ReadRequest || psn >= refused || reth === undefined) continue;
    const data = await peer.memory(Number(reth.va - peer.region.va), reth.length);
    for (const { payload, psn: at } of readResponses({ psn, msn: 0, data, mtu: peer.mtu })) {
      await peer.rx({ psn: at, payload: payload ?? new Uint8Array(0) });
    }
  }
}

type Refusal = readonly [what: string, syndrome: number, psn: number, packets: (peer: TesterPeer) => readonly Packet[]];

const refusals: readonly Refusal[] = [
  ['0x62: the first request', 0x62, 0, (peer) => [bad(peer, 0)]],
  [
    '0x62: a single packet behind others',
    0x62,
    3,
    (peer) => [0, 1, 2].map((psn): Packet => sendOnly({ psn, payload: pattern(8) })).concat(bad(peer, 3)),
  ],
  ['0x62: a READ behind a READ of three packets', 0x62, 3, (peer) => [read(peer, 0, 3 * peer.mtu), badRead(peer, 3)]],
  [
    '0x62: a READ whose last byte only lies outside',
    0x62,
    1,
    (peer) => {
      const { va, rkey, length } = peer.region;
      const reth = { va: va + BigInt(length - 2 * peer.mtu + 1), rkey, length: 2 * peer.mtu };
      return [sendOnly({ psn: 0, payload: pattern(8) }), readRequest({ psn: 1, reth })];
    },
  ],
  [
    '0x61: the second packet of a message is of another kind',
    0x61,
    1,
    (peer) => [
      writeFirst({ psn: 0, reth: whole(peer, 3), payload: pattern(peer.mtu) }),
      sendMiddle({ psn: 1, payload: pattern(peer.mtu) }),
    ],
  ],
  [
    '0x61: the third packet of a WRITE is too long',
    0x61,
    2,
    (peer) => [
      writeFirst({ psn: 0, reth: whole(peer, 4), payload: pattern(peer.mtu) }),
      writeMiddle({ psn: 1, payload: pattern(peer.mtu) }),
      writeMiddle({ psn: 2, payload: pattern(peer.mtu + 4) }),
    ],
  ],
  [
    '0x61: a message within a message, behind a READ',
    0x61,
    3,
    (peer) => [
      read(peer, 0, 2 * peer.mtu),
      sendFirst({ psn: 2, payload: pattern(peer.mtu) }),
      sendOnly({ psn: 3, payload: pattern(8) }),
    ],
  ],
];

const badAtomic: Refusal = [
  '0x62: a FETCH ADD',
  0x62,
  1,
  (peer) => [sendOnly({ psn: 0 }), requestWith('FETCH ADD', peer, { ...foreign(peer), psn: 1 })],
];

const foreign = ({ region }: TesterPeer) => ({ va: region.va, rkey: badKeys(region.rkey)[0] ?? 0 });
const whole = ({ region, mtu }: TesterPeer, packets: number) => ({
  va: region.va,
  rkey: region.rkey,
  length: packets * mtu,
});
const bad = (peer: TesterPeer, psn: number): Packet => requestWith('WRITE', peer, { ...foreign(peer), psn });
const badRead = (peer: TesterPeer, psn: number): Packet => requestWith('READ', peer, { ...foreign(peer), psn });
const read = ({ region }: TesterPeer, psn: number, length: number): Packet =>
  readRequest({ psn, reth: { va: region.va, rkey: region.rkey, length } });
