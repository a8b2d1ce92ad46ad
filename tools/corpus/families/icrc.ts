/** Right and wrong ICRCs: each covered field changed alone, each masked field changed alone, wrong recipes, pads. */
import { computeIcrc, crc32, maskVariantFields, Op, rxeFlushIcrc } from 'rocev2/packets';
import { type Draft, type Edit, type Packet, pattern } from 'rocev2/packets/kit';
import { IPV4_BYTES } from 'rocev2/packets/network';
import { type CorpusCapture, frame, route, type Vector, vectorFile } from '../capture.ts';
import { ipv4Checksum } from '../wrap.ts';

/** Damage over both IP versions, what the network may change, wrong recipes, pads. */
export function icrcCaptures(): readonly CorpusCapture[] {
  return [...([4, 6] as const).flatMap((ipVersion) => [damaged(ipVersion), masked(ipVersion)]), recipes(), pads()];
}

const WRITE: Packet = {
  ...{ opcode: Op.WriteOnlyImm, psn: 0xff_fffe, ackReq: true, imm: 0x0102_0304, payload: pattern(30) },
  reth: { va: 0x1000n, rkey: 0x1111_2222, length: 30 },
};

/** Changes a bit; in a frame over IPv4 the header checksum stays right. */
function flip(where: 'ip' | 'udp' | 'bth' | 'icrc', offset: number, bits = 1): Edit {
  return (draft) => {
    const at = draft[where] + offset;
    draft.view.setUint8(at, draft.view.getUint8(at) ^ bits);
    if (draft.udp - draft.ip === IPV4_BYTES && where === 'ip') ipv4Checksum(draft.view, draft.ip);
    return undefined;
  };
}

function damaged(ipVersion: 4 | 6): CorpusCapture {
  const over: readonly (readonly [string, Edit])[] =
    ipVersion === 4
      ? [
          ['identification', flip('ip', 5)],
          ['DF bit', flip('ip', 6, 0x40)],
          ['source address', flip('ip', 15)],
          ['destination address', flip('ip', 19)],
        ]
      : [
          ['source address', flip('ip', 23)],
          ['destination address', flip('ip', 39)],
        ];
  const vectors = [
    { about: 'nothing changed: the ICRC is right', bytes: frame(WRITE, route(ipVersion)) },
    ...[...over, ...DAMAGES].map(([name, spoil]) => ({
      about: `a bit of ${name} changed after the ICRC was made: wrong`,
      bytes: frame({ ...WRITE, spoil }, route(ipVersion)),
    })),
  ];
  const about = `One packet over IPv${ipVersion} with one covered bit after the other changed: all but the first are wrong.`;
  return vectorFile(`icrc/damaged-ipv${ipVersion}.pcapng`, about, vectors);
}

/** By byte of the packet from its UDP header on; the length stays as it is, so that the packet can still be found. */
const DAMAGES: readonly (readonly [string, Edit])[] = [
  ['UDP source port', flip('udp', 1)],
  ['opcode (WRITE Only)', flip('bth', 0)],
  ['solicited event', flip('bth', 1, 0x80)],
  ['MigReq', flip('bth', 1, 0x40)],
  ['pad count', flip('bth', 1, 0x10)],
  ['P_Key', flip('bth', 3)],
  ['destination queue pair', flip('bth', 7)],
  ['AckReq', flip('bth', 8, 0x80)],
  ['the reserved bits beside AckReq', flip('bth', 8, 0x01)],
  ['PSN', flip('bth', 11)],
  ['virtual address', flip('bth', 19)],
  ['R_Key', flip('bth', 23)],
  ['DMA length', flip('bth', 27)],
  ['immediate data', flip('bth', 31)],
  ['the first byte of the payload', flip('bth', 32)],
  ['the last byte of the payload', flip('icrc', -3)],
  ['the pad', flip('icrc', -1)],
  ['the ICRC, first byte', flip('icrc', 0)],
  ['the ICRC, last byte', flip('icrc', 3, 0x80)],
];

function masked(ipVersion: 4 | 6): CorpusCapture {
  const over: readonly (readonly [string, Edit])[] =
    ipVersion === 4
      ? [
          ['TOS: DSCP', flip('ip', 1, 0x68)],
          ['TOS: CE', flip('ip', 1, 0x03)],
          ['TTL', flip('ip', 8, 0x7f)],
        ]
      : [
          ['traffic class', flip('ip', 0, 0x06)],
          ['flow label', flip('ip', 3, 0xff)],
          ['hop limit', flip('ip', 7, 0x7f)],
        ];
  const below: readonly (readonly [string, Edit])[] = [
    ['UDP checksum', flip('udp', 6, 0xff)],
    ['FECN', flip('bth', 4, 0x80)],
    ['BECN', flip('bth', 4, 0x40)],
    ['the reserved bits beside BECN', flip('bth', 4, 0x3f)],
  ];
  const vectors = [...over, ...below].map(([name, spoil]) => ({
    about: `${name} changed after the ICRC was made: still right`,
    bytes: frame({ ...WRITE, spoil }, route(ipVersion)),
  }));
  const about = `One packet over IPv${ipVersion} with one masked field after the other changed: all ICRCs are right.`;
  return vectorFile(`icrc/masked-ipv${ipVersion}.pcapng`, about, vectors);
}

/** How ICRCs come out wrong when they are computed by another recipe (ref:wire#3). */
function recipes(): CorpusCapture {
  const store = (value: (draft: Draft) => number, littleEndian = true): Edit => {
    return (draft) => {
      draft.view.setUint32(draft.icrc, value(draft), littleEndian);
      return undefined;
    };
  };
  const right = ({ bytes, view, ip, bth, icrc }: Draft): number => computeIcrc(bytes, view, ip, 4, bth, icrc);
  const unmasked = ({ bytes, ip, icrc }: Draft): number => crc32(Uint8Array.of(...ONES, ...bytes.subarray(ip, icrc)));
  const withoutOnes = ({ bytes, ip, icrc }: Draft): number => {
    const copy = bytes.slice(ip, icrc);
    maskVariantFields(new DataView(copy.buffer), 0, 4);
    return crc32(copy);
  };
  const flush: Packet = {
    ...WRITE,
    opcode: Op.Flush,
    payload: new Uint8Array(0),
    feth: { placement: 1, selectivity: 0 },
  };
  const rxe = (draft: Draft): number => rxeFlushIcrc(right(draft), draft.bytes, draft.bth, draft.icrc);
  const vectors: readonly Vector[] = [
    { about: 'right', bytes: frame(WRITE, route(4)) },
    { about: 'stored big-endian: wrong', bytes: frame({ ...WRITE, spoil: store(right, false) }, route(4)) },
    { about: 'not inverted at the end: wrong', bytes: frame({ ...WRITE, spoil: store((d) => ~right(d)) }, route(4)) },
    { about: 'nothing masked: wrong', bytes: frame({ ...WRITE, spoil: store(unmasked) }, route(4)) },
    {
      about: 'without the eight bytes of ones: wrong',
      bytes: frame({ ...WRITE, spoil: store(withoutOnes) }, route(4)),
    },
    { about: 'zero, as before a NIC fills it in: wrong', bytes: frame({ ...WRITE, spoil: store(() => 0) }, route(4)) },
    { about: 'FLUSH, right', bytes: frame(flush, route(4)) },
    {
      about: 'FLUSH as rdma_rxe sends it: wrong, by a known recipe',
      bytes: frame({ ...flush, spoil: store(rxe) }, route(4)),
    },
  ];
  return vectorFile(
    'icrc/recipes.pcapng',
    'The mistakes of implementations that computed the ICRC otherwise.',
    vectors,
  );
}

function pads(): CorpusCapture {
  const lengths = [0, 1, 2, 3, 4, 5, 6, 7, 8, 255, 256];
  const vectors: Vector[] = lengths.map((length) => ({
    about: `${length} bytes of payload, ${-length & 3} of pad`,
    bytes: frame({ opcode: Op.SendOnly, psn: length, payload: pattern(length) }, route(4)),
  }));
  const odd = (about: string, payload: number, pad: number, edit?: Edit): void => {
    const packet = {
      opcode: Op.SendOnly,
      psn: 0,
      payload: pattern(payload),
      pad,
      ...(edit === undefined ? {} : { edit }),
    };
    vectors.push({ about, bytes: frame(packet, route(4)) });
  };
  odd('pad bytes that are not zero: covered, and no data', 5, 3, flip('icrc', -1, 0xff));
  odd('one byte of pad too many: payload and pad are no multiple of four', 4, 1);
  odd('no pad behind five bytes', 5, 0);
  odd('nothing but pad', 0, 3);
  return vectorFile('icrc/pads.pcapng', 'Payloads and pads; every ICRC is right and covers the pad.', vectors);
}

const ONES = new Array<number>(8).fill(0xff);
