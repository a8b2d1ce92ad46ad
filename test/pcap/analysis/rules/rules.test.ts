/**
 * Goal: each rule of the protocol is told where it is broken, with the packets that break it, and nowhere else.
 * Method: exchanges of a connection by hand, a sound one and then the same with one thing wrong; real captures break
 * none.
 */
import { describe, expect, it } from 'vitest';
import { computeIcrc } from '../../../../packets/icrc.ts';
import { Op } from '../../../../packets/opcode.ts';
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import { Mark } from '../../../../pcap/analysis/facts.ts';
import { RULES } from '../../../../pcap/analysis/rules/index.ts';
import { LinkType } from '../../../../pcap/types.ts';
import { type RoceSpec, roceFrame, station, withBadIcrc } from '../../../../tools/symptoms/forge.ts';
import { aeth, reth } from '../../../../tools/symptoms/headers.ts';

const A = station(1);
const B = station(2);
const QPN = 0x11;
const BACK = 0x22;
/** So that what follows wraps. */
const PSN = 0xff_ff_fe;

type Draft = Partial<RoceSpec> & Pick<RoceSpec, 'opcode'>;

const bytes = (length: number): Uint8Array => new Uint8Array(length).fill(0x5a);
const psnAt = (at: number): number => (PSN + at) % 0x1_00_00_00;

/** From A to B, `at` counted from the first PSN. */
const request = (at: number, draft: Draft): Uint8Array =>
  roceFrame({ from: A, to: B, destQpn: QPN, psn: psnAt(at), ipId: ++ids, ...draft });
/** From B to A. */
const response = (at: number, draft: Draft): Uint8Array =>
  roceFrame({ from: B, to: A, destQpn: BACK, psn: psnAt(at), ipId: ++ids, ...draft });
let ids = 0;

const ack = (at: number, msn: number, syndrome = 0x1f): Uint8Array =>
  response(at, { opcode: Op.Acknowledge, headers: aeth(syndrome, msn) });
const send = (at: number, length = 8): Uint8Array => request(at, { opcode: Op.SendOnly, payload: bytes(length) });
const write = (length: number): Uint8Array => reth(0x1000n, 0x77, length);

/** WRITE of 2,500 bytes at path MTU 1024; the drafts take the place of its packets. */
const writeOf = (first: Draft, middle: Draft, last: Draft): Uint8Array[] => [
  request(0, { headers: write(2500), payload: bytes(1024), ...first }),
  request(1, { payload: bytes(1024), ...middle }),
  request(2, { payload: bytes(452), ...last }),
  ack(2, 1),
];
const FIRST = { opcode: Op.WriteFirst };
const MIDDLE = { opcode: Op.WriteMiddle };
const LAST = { opcode: Op.WriteLast };

/** READ of 2,500 bytes and its answers. */
const readOf = (first: Draft, middle: Draft, last: Draft): Uint8Array[] => [
  request(0, { opcode: Op.ReadRequest, headers: write(2500) }),
  response(0, { headers: aeth(0x1f, 1), payload: bytes(1024), ...first }),
  response(1, { payload: bytes(1024), ...middle }),
  response(2, { headers: aeth(0x1f, 1), payload: bytes(452), ...last }),
];
const READ_FIRST = { opcode: Op.ReadResponseFirst };
const READ_MIDDLE = { opcode: Op.ReadResponseMiddle };
const READ_LAST = { opcode: Op.ReadResponseLast };

interface Judgement {
  /** Ids of rules that are broken, notes among them. */
  readonly broken: string[];
  /** Numbers of the packets marked as violations. */
  readonly marked: number[];
  readonly texts: string;
}

function judge(frames: readonly Uint8Array[]): Judgement {
  const analyzer = new Analyzer();
  const marked: number[] = [];
  for (const [i, frame] of frames.entries()) {
    const facts = analyzer.packet({
      number: i + 1,
      seconds: 0,
      nanoseconds: i * 5_000,
      bytes: frame,
      originalLength: frame.length,
      linkType: LinkType.Ethernet,
      interfaceIndex: 0,
      direction: 0,
      comments: [],
    });
    if ((facts.marks & Mark.Violation) !== 0) marked.push(i + 1);
  }
  const findings = analyzer.finish().findings.filter(({ id }) => id.startsWith('rule/'));
  return {
    broken: findings.map(({ id }) => id.slice('rule/'.length)).sort(),
    marked,
    texts: findings.map(({ text }) => text).join('\n'),
  };
}

/** Sound traffic of every kind. */
const SOUND: readonly (readonly [name: string, frames: () => Uint8Array[]])[] = [
  ['a WRITE of three packets over the wrap of the PSN', () => writeOf(FIRST, MIDDLE, LAST)],
  ['a READ of three responses', () => readOf(READ_FIRST, READ_MIDDLE, READ_LAST)],
  ['SENDs of one packet, one of them empty', () => [send(0), send(1, 0), send(2, 1021), ack(2, 3)]],
  [
    'a READ of nothing',
    () => [
      request(0, { opcode: Op.ReadRequest, headers: write(0) }),
      response(0, { opcode: Op.ReadResponseOnly, headers: aeth(0x1f, 1) }),
    ],
  ],
  ['a capture that begins inside a message', () => writeOf(FIRST, MIDDLE, LAST).slice(1)],
  ['a capture that lacks the middle of a message', () => writeOf(FIRST, MIDDLE, LAST).filter((_, i) => i !== 1)],
  [
    'a message that is repeated from its middle on',
    () => [
      ...writeOf(FIRST, MIDDLE, LAST).slice(0, 3),
      ack(1, 0, 0x60),
      ...writeOf(FIRST, MIDDLE, LAST).slice(1),
      send(3),
      ack(3, 2),
    ],
  ],
  [
    'a READ that is asked for again from its middle on',
    () => [
      ...readOf(READ_FIRST, READ_MIDDLE, READ_LAST).slice(0, 2),
      request(1, { opcode: Op.ReadRequest, headers: reth(0x1400n, 0x77, 1476) }),
      response(1, { opcode: Op.ReadResponseFirst, headers: aeth(0x1f, 1), payload: bytes(1024) }),
      response(2, { ...READ_LAST, headers: aeth(0x1f, 1), payload: bytes(452) }),
    ],
  ],
  ['acknowledges that overtake each other', () => [send(0), send(1), ack(1, 2), ack(0, 1)]],
  [
    'a damaged packet, whatever it says',
    () => [withBadIcrc(request(0, { ...MIDDLE, payload: bytes(7), padCount: 0 }))],
  ],
];

/** One thing wrong: the rule, and the packets (from 1) that break it. */
const BROKEN: readonly (readonly [
  rule: keyof typeof RULES,
  what: string,
  frames: () => Uint8Array[],
  marked: number[],
])[] = [
  [
    'fullPackets',
    'a FIRST that is no path MTU',
    () =>
      writeOf(
        { ...FIRST, payload: bytes(1000) },
        { ...MIDDLE, payload: bytes(1000) },
        { ...LAST, payload: bytes(500) },
      ),
    [1],
  ],
  [
    'fullPackets',
    'a MIDDLE that is not full',
    () =>
      writeOf({ ...FIRST, headers: write(2000) }, { ...MIDDLE, payload: bytes(512) }, { ...LAST, payload: bytes(464) }),
    [2],
  ],
  [
    'lastLength',
    'a LAST of nothing',
    () => writeOf({ ...FIRST, headers: write(2048) }, MIDDLE, { ...LAST, payload: bytes(0) }),
    [3],
  ],
  [
    'lastLength',
    'a LAST longer than the path MTU',
    () => writeOf({ ...FIRST, headers: write(3076) }, MIDDLE, { ...LAST, payload: bytes(1028) }),
    [3],
  ],
  [
    'lastLength',
    'an ONLY longer than the path MTU',
    () => [...writeOf(FIRST, MIDDLE, LAST), send(3, 2048), ack(3, 2)],
    [5],
  ],
  ['writeLength', 'a WRITE that is too short', () => writeOf(FIRST, MIDDLE, { ...LAST, payload: bytes(448) }), [3]],
  [
    'writeLength',
    'a WRITE that is too long',
    () => writeOf({ ...FIRST, headers: write(2000) }, MIDDLE, { ...LAST, payload: bytes(4) }),
    [2],
  ],
  [
    'writeLength',
    'a WRITE of one packet with another length',
    () => [request(0, { opcode: Op.WriteOnly, headers: write(9), payload: bytes(8) }), ack(0, 1)],
    [1],
  ],
  ['opensInside', 'a SEND inside a WRITE', () => writeOf(FIRST, { opcode: Op.SendMiddle }, LAST), [2]],
  [
    'opensInside',
    'a READ inside a WRITE',
    () => [writeOf(FIRST, MIDDLE, LAST)[0] ?? bytes(0), request(1, { opcode: Op.ReadRequest, headers: write(8) })],
    [2],
  ],
  ['nothingOpen', 'a LAST behind an ONLY', () => [send(0), request(1, { ...LAST, payload: bytes(8) }), ack(1, 1)], [2]],
  [
    'changedRepetition',
    'a repetition of another length',
    () => [send(0), send(1), ack(0, 0, 0x60), send(0, 12), send(1), ack(1, 2)],
    [4],
  ],
  [
    'padMultiple',
    'payload and pad that are no multiple of four',
    () => [request(0, { opcode: Op.SendOnly, payload: bytes(6), padCount: 0 }), ack(0, 1)],
    [1],
  ],
  [
    'noPayload',
    'a READ request with payload',
    () => [request(0, { opcode: Op.ReadRequest, headers: write(8), payload: bytes(8) })],
    [1],
  ],
  [
    'noPayload',
    'an ATOMIC WRITE of four bytes',
    () => [request(0, { opcode: Op.AtomicWrite, headers: write(4), payload: bytes(4) })],
    [1],
  ],
  [
    'messageSize',
    'a READ of more than 2 GiB',
    () => [request(0, { opcode: Op.ReadRequest, headers: write(0x8000_0001) })],
    [1],
  ],
  [
    'atomicAlignment',
    'an ATOMIC WRITE to an odd address',
    () => [request(0, { opcode: Op.AtomicWrite, headers: reth(0x1004n, 1, 8), payload: bytes(8) })],
    [1],
  ],
  [
    'readResponseOpcode',
    'a MIDDLE where a READ ends',
    () => readOf(READ_FIRST, READ_MIDDLE, { opcode: Op.ReadResponseMiddle, headers: bytes(0), payload: bytes(1024) }),
    [4],
  ],
  [
    'readResponseOpcode',
    'a FIRST inside a READ',
    () => readOf(READ_FIRST, { opcode: Op.ReadResponseFirst, headers: aeth(0x1f, 1) }, READ_LAST),
    [3],
  ],
  [
    'readResponseLength',
    'a LAST that is too short',
    () => readOf(READ_FIRST, READ_MIDDLE, { ...READ_LAST, payload: bytes(448) }),
    [4],
  ],
  [
    'readResponseLength',
    'a MIDDLE that is not full',
    () => readOf(READ_FIRST, { ...READ_MIDDLE, payload: bytes(512) }, READ_LAST),
    [3],
  ],
  [
    'readResponseSyndrome',
    'a READ response with a NAK in it',
    () => readOf(READ_FIRST, READ_MIDDLE, { ...READ_LAST, headers: aeth(0x60, 1) }),
    [4],
  ],
  ['reservedSyndrome', 'a reserved kind of syndrome', () => [send(0), ack(0, 1, 0x45)], [2]],
  ['reservedSyndrome', 'a reserved NAK', () => [send(0), ack(0, 1, 0x6a)], [2]],
  ['msnOrder', 'an MSN that falls', () => [send(0), send(1), ack(0, 5), ack(1, 4)], [4]],
  ['afterFatalNak', 'an ACK after the end', () => [send(0), send(1), ack(0, 0, 0x62), ack(1, 1)], [4]],
  ['cnpFormat', 'a CNP with a PSN', () => [response(5, { opcode: Op.Cnp, headers: new Uint8Array(16) })], [1]],
  [
    'cnpFormat',
    'a CNP that is not empty',
    () => [roceFrame({ from: B, to: A, destQpn: BACK, psn: 0, opcode: Op.Cnp, headers: bytes(16) })],
    [1],
  ],
  [
    'managementFormat',
    'a reliable SEND to queue pair 1',
    () => [request(0, { opcode: Op.SendOnly, destQpn: 1, payload: bytes(256) })],
    [1],
  ],
  [
    'managementFormat',
    'a short datagram to queue pair 1',
    () => [
      request(0, {
        opcode: Op.UdSendOnly,
        destQpn: 1,
        headers: Uint8Array.of(0x80, 1, 0, 0, 0, 0, 0, 1),
        payload: bytes(64),
      }),
    ],
    [1],
  ],
  [
    'pkey',
    'two partitions',
    () => [send(0), response(0, { opcode: Op.Acknowledge, headers: aeth(0x1f, 1), pkey: 0x8001 })],
    [2],
  ],
  [
    'pkey',
    'two limited members',
    () => [
      request(0, { opcode: Op.SendOnly, pkey: 0x7fff }),
      response(0, { opcode: Op.Acknowledge, headers: aeth(0x1f, 1), pkey: 0x7fff }),
    ],
    [2],
  ],
  [
    'sourcePort',
    'a source port that moves',
    () => [send(0), request(1, { opcode: Op.SendOnly, sourcePort: 0xc200 }), ack(1, 2)],
    [2],
  ],
  [
    'migReq',
    'two opinions on MigReq',
    () => [send(0), response(0, { opcode: Op.Acknowledge, headers: aeth(0x1f, 1), migReq: 0 })],
    [2],
  ],
  ['reservedOpcode', 'an opcode without a meaning', () => [request(0, { opcode: 0x1a, payload: bytes(8) })], [1]],
];

describe('the rules of the protocol', () => {
  it.each(SOUND)('are kept by %s', (_name, frames) => {
    const { broken, marked } = judge(frames());
    expect({ broken, marked }).toEqual({ broken: [], marked: [] });
  });

  it.each(BROKEN)('%s: %s is told, and nothing else', (rule, _what, frames, marked) => {
    const judgement = judge(frames());
    expect(judgement).toMatchObject({ broken: [RULES[rule].id], marked });
    expect(judgement.texts).toContain(RULES[rule].says);
  });

  it('are each broken by one of these packets, but for five that need bytes no encoder makes', () => {
    const tried = new Set(BROKEN.map(([rule]) => rule));
    const untried = Object.keys(RULES).filter((name) => !tried.has(name as keyof typeof RULES));
    expect(untried).toEqual(['longHeaders', 'transportVersion', 'headerLength', 'udpLength', 'udpChecksum']);
  });

  it.each([
    ['transport-version', 43, 0x45],
    ['header-length', 42, Op.CompareSwap],
    ['udp-length', 39, 12],
    ['reserved-opcode', 42, 0x1a],
  ] as const)('%s: told of a packet that was made so, and not of one that was damaged', (id, at, value) => {
    const damaged = patch(send(0), at, value);
    expect(judge([damaged])).toMatchObject({ broken: [], marked: [] });
    expect(judge([signed(damaged)])).toMatchObject({ broken: [id], marked: [1] });
  });

  it('udp-checksum: no ICRC covers it', () => {
    expect(judge([patch(send(0), 41, 1)])).toMatchObject({ broken: ['udp-checksum'], marked: [1] });
  });

  it('are kept by an old READ that is answered again with the MSN of the day, before an older acknowledge', () => {
    const again = response(0, { opcode: Op.ReadResponseOnly, headers: aeth(0x1f, 9), payload: bytes(8) });
    const read = request(0, { opcode: Op.ReadRequest, headers: write(8) });
    const first = response(0, { opcode: Op.ReadResponseOnly, headers: aeth(0x1f, 1), payload: bytes(8) });
    expect(judge([read, first, send(1), read.slice(), again, ack(1, 2)]).broken).toEqual([]);
  });

  it('have ids of their own and a source each', () => {
    const ids = Object.values(RULES).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { source, says } of Object.values(RULES)) {
      expect(source).toMatch(/^(?:ref|rxe):/);
      expect(says).toMatch(/\.$/);
    }
  });
});

/** With the ICRC of what it is now. */
function signed(frame: Uint8Array): Uint8Array {
  const bytes = frame.slice();
  const view = new DataView(bytes.buffer);
  view.setUint32(bytes.length - 4, computeIcrc(bytes, view, 14, 4, 42, bytes.length - 4), true);
  return bytes;
}

function patch(frame: Uint8Array, at: number, value: number): Uint8Array {
  const patched = frame.slice();
  patched[at] = value;
  return patched;
}
