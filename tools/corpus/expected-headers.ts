/** The extended headers behind a BTH as the corpus writes them down. Owns the names of their fields. */
import {
  AETH_AT,
  ATOMIC_ACK_ETH_AT,
  ATOMIC_ETH_AT,
  BTH_BYTES,
  DETH_AT,
  FETH_AT,
  type Frame,
  IETH_AT,
  IMM_AT,
  iethRkey,
  immDt,
  NAK_NAMES,
  OpFlag,
  RDETH_AT,
  RETH_AT,
  RNR_TIMER_NS,
  readAeth,
  readAtomicAckEth,
  readAtomicEth,
  readDeth,
  readFeth,
  readRdeth,
  readReth,
  readXrceth,
  SYNDROME_KIND_MASK,
  SYNDROME_VALUE_MASK,
  SyndromeKind,
  XRCETH_AT,
} from 'rocev2/packets';
import { hex64, hexBytes, type Value } from './hex.ts';

type Fields = Record<string, Value>;

/** Every extended header of a frame that is Ok, in the order of the wire. */
export function extendedHeaders({ view, bytes, bthOffset, opcode, flags }: Frame): Fields {
  const found: Fields = {};
  for (const [name, offsets, read] of HEADERS) {
    const at = offsets[opcode] ?? -1;
    if (at >= 0) found[name] = read(view, bthOffset + at);
  }
  const reserved = bthOffset + BTH_BYTES;
  if ((flags & OpFlag.Cnp) !== 0) found['cnp'] = { reserved: hexBytes(bytes.subarray(reserved, reserved + 16)) };
  return found;
}

/** What a syndrome says (ref:wire#7). */
function aeth(view: DataView, at: number): Fields {
  const { syndrome, msn } = readAeth(view, at);
  const value = syndrome & SYNDROME_VALUE_MASK;
  switch (syndrome & SYNDROME_KIND_MASK) {
    case SyndromeKind.Ack:
      return { syndrome, msn, kind: 'ack', creditCode: value };
    case SyndromeKind.RnrNak:
      return { syndrome, msn, kind: 'rnr-nak', timerCode: value, timerUs: (RNR_TIMER_NS[value] ?? 0) / 1000 };
    case SyndromeKind.Nak:
      return { syndrome, msn, kind: 'nak', ...(NAK_NAMES[value] === undefined ? {} : { nak: NAK_NAMES[value] }) };
    default:
      return { syndrome, msn, kind: 'reserved' };
  }
}

function reth(view: DataView, at: number): Fields {
  const { va, rkey, dmaLength } = readReth(view, at);
  return { va: hex64(va), rkey, length: dmaLength };
}

function atomicEth(view: DataView, at: number): Fields {
  const { va, rkey, swapAdd, compare } = readAtomicEth(view, at);
  return { va: hex64(va), rkey, swapAdd: hex64(swapAdd), compare: hex64(compare) };
}

const HEADERS: readonly (readonly [string, Int8Array, (view: DataView, at: number) => Fields])[] = [
  ['rdeth', RDETH_AT, (view, at) => ({ eeContext: readRdeth(view, at).eeContext })],
  ['deth', DETH_AT, (view, at) => ({ qkey: readDeth(view, at).qkey, sourceQpn: readDeth(view, at).sourceQpn })],
  ['xrceth', XRCETH_AT, (view, at) => ({ srqn: readXrceth(view, at).xrcSrq })],
  ['feth', FETH_AT, (view, at) => ({ ...readFeth(view, at) })],
  ['reth', RETH_AT, reth],
  ['aeth', AETH_AT, aeth],
  ['atomicEth', ATOMIC_ETH_AT, atomicEth],
  ['atomicAckEth', ATOMIC_ACK_ETH_AT, (view, at) => ({ original: hex64(readAtomicAckEth(view, at).original) })],
  ['immDt', IMM_AT, (view, at) => ({ value: immDt(view, at) })],
  ['ieth', IETH_AT, (view, at) => ({ rkey: iethRkey(view, at) })],
];
