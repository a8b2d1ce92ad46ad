/** Every opcode with every header, over both IP versions; every AETH syndrome. */
import { OPCODES, Op, type OpcodeInfo, OpFlag, RDETH_AT, Service, Syndrome } from 'rocev2/packets';
import { type Packet, pattern } from 'rocev2/packets/kit';
import { type CorpusCapture, frame, route, type Vector, vectorFile } from '../capture.ts';

/** A file for each service and IP version, and one of all syndromes. */
export function opcodeCaptures(): readonly CorpusCapture[] {
  const files = Object.entries(Service).flatMap(([service, code]) =>
    ([4, 6] as const).map((ipVersion) => opcodeFile(service.toLowerCase(), code, ipVersion)),
  );
  return [...files, syndromeFile()];
}

/** A packet of this opcode with a value of its own in every field. */
export function packetOf({ code, flags }: OpcodeInfo, psn: number): Packet {
  const rdeth = RDETH_AT[code] ?? -1;
  return {
    ...{ opcode: code, psn, payload: pattern(payloadBytes(code, flags)), ackReq: (flags & OpFlag.Last) !== 0 },
    ...{ solicited: (flags & (OpFlag.Last | OpFlag.Send)) === (OpFlag.Last | OpFlag.Send), pkey: 0x8001 },
    ...(code === Op.Cnp ? { becn: 1, migReq: 0 } : {}),
    reth: { va: 0x0123_4567_89ab_cdefn, rkey: 0xdead_beef, length: 613 },
    atomic: { va: 0x7fff_0000_1234_5678n, rkey: 0x0bad_cafe, swapAdd: 0xffff_ffff_ffff_fffen, compare: 0x10n },
    ...{ imm: 0xcafe_f00d, inv: 0x8765_4321, syndrome: Syndrome.Ack, msn: 0xff_ffff, original: 0xfedc_ba98_7654_3210n },
    ...{ srqn: 0xab_cdef, qkey: 0x8001_0203, srcQpn: 0x65_4321, feth: { placement: 2, selectivity: 1 } },
    edit: ({ view, bth }) => {
      if (rdeth >= 0) view.setUint32(bth + rdeth, 0x00_fe_dcba);
      return undefined;
    },
  };
}

function opcodeFile(service: string, code: number, ipVersion: 4 | 6): CorpusCapture {
  const known = OPCODES.filter((info) => info.known && info.service === code);
  const vectors = known.map((info, i): Vector => {
    return { about: info.name, bytes: frame(packetOf(info, 0x10_00 + i), route(ipVersion), 0x100 + i) };
  });
  const name = service.toUpperCase();
  const about = `Every ${name} opcode over IPv${ipVersion}, each with all its headers; the ICRCs are right.`;
  return vectorFile(`opcodes/${service}-ipv${ipVersion}.pcapng`, about, vectors);
}

/** Short ones: 40 bytes do for a FIRST here, where no path MTU is agreed on. */
function payloadBytes(code: number, flags: number): number {
  if ((flags & OpFlag.Payload) === 0) return 0;
  if (code === Op.AtomicWrite) return 8;
  if ((flags & (OpFlag.First | OpFlag.Middle)) !== 0) return 40;
  return (flags & OpFlag.Last) !== 0 ? 21 : 14;
}

/** The upper half of the syndromes is reserved as a whole. */
const RESERVED = [0x80, 0x9f, 0xa0, 0xbf, 0xc0, 0xdf, 0xe0, 0xff];

function syndromeFile(): CorpusCapture {
  const syndromes = [...Array.from({ length: 0x80 }, (_, syndrome) => syndrome), ...RESERVED];
  const vectors = syndromes.map((syndrome): Vector => {
    const packet = { opcode: Op.Acknowledge, psn: syndrome, syndrome, msn: 0x100 + syndrome };
    return { about: `syndrome 0x${syndrome.toString(16).padStart(2, '0')}`, bytes: frame(packet, route(4)) };
  });
  const about = 'RC Acknowledge with every syndrome of an AETH up to 0x7f, and some above, all of which are reserved.';
  return vectorFile('opcodes/syndromes.pcapng', about, vectors);
}
