/**
 * Capsules of a hostile host: commands as an honest host would send them, and what is changed in them. Owns which
 * fields there are to change, and to what. What becomes of a capsule is told from its bytes alone.
 */
import type { Prng } from '../../../../src/ground/prng.ts';
import {
  ABORT,
  AdminOpcode,
  COMMAND_BYTES,
  CONNECT,
  CONNECT_DATA,
  DISCOVERY_NQN,
  encodeDsmRanges,
  FABRICS_OPCODE,
  FabricsType,
  FEATURES,
  Feature,
  FLAGS_SGL,
  GET_LOG_PAGE,
  IDENTIFY,
  NvmeCommand,
  NvmOpcode,
  PROPERTY,
  PropertyOffset,
  setBlocks,
  setDeallocation,
  writeCommand,
} from '../../../../src/ulp/nvme/index.ts';
import type { HostileHost, HostileQueue } from './hostile-host.ts';

/** The memory that data of commands is taken from, and put into. */
const WINDOW = 192 * 1024;
export const HOSTILE_NQN = 'nqn.2026-11.example:hostile';
export const HOSTILE_ID = new Uint8Array(16).fill(0x66);

export interface CapsuleTerms {
  readonly random: Prng;
  readonly host: HostileHost;
  readonly queue: HostileQueue;
  readonly subnqns: readonly string[];
  /** Identifiers that are under way. */
  readonly outstanding: readonly number[];
}

/** The command Connect as it has to be, its data placed in the memory of the host. */
export function connectCapsule(terms: CapsuleTerms, subnqn: string, cntlid: number, kato: number): Uint8Array {
  const { host, queue } = terms;
  const data = CONNECT_DATA.encode({ hostid: HOSTILE_ID, cntlid, subnqn, hostnqn: HOSTILE_NQN });
  host.bytes.set(data, 0);
  const command = new NvmeCommand().begin(FABRICS_OPCODE, FabricsType.Connect);
  command.setArguments(CONNECT, { qid: queue.qid, sqsize: queue.state.entries - 1, kato });
  return keyed(terms, command, data.length, 0);
}

/** Property Set of CC. */
export function enableCapsule(terms: CapsuleTerms, value = 0x46_00_01): Uint8Array {
  const command = new NvmeCommand().begin(FABRICS_OPCODE, FabricsType.PropertySet);
  command.setArguments(PROPERTY, { offset: PropertyOffset.Cc, value: BigInt(value) });
  return sealed(terms, command);
}

/** A command as an honest host might send it on this queue. */
export function honestCapsule(terms: CapsuleTerms): Uint8Array {
  const { random, queue } = terms;
  if (queue.qid === 0 || random.chance(0.03)) return pick(random, ADMIN)(terms);
  return random.chance(0.05) ? pick(random, ADMIN)(terms) : pick(random, IO)(terms);
}

/** The same with `changes` fields changed. */
export function mutated(terms: CapsuleTerms, capsule: Uint8Array, changes: number): Uint8Array {
  let bytes: Uint8Array = capsule.slice();
  for (let i = 0; i < changes; i++) bytes = pick(terms.random, MUTATIONS)(bytes, terms);
  return bytes;
}

type Maker = (terms: CapsuleTerms) => Uint8Array;

const ADMIN: readonly Maker[] = [
  (terms) => {
    const command = new NvmeCommand().begin(AdminOpcode.Identify, terms.random.below(5));
    return keyed(terms, command.setArguments(IDENTIFY, { cns: terms.random.below(0x20) }), 4096);
  },
  (terms) => {
    const bytes = 4 * (1 + terms.random.below(2048));
    const command = new NvmeCommand().begin(AdminOpcode.GetLogPage, 0xff_ff_ff_ff);
    const lid = pick(terms.random, [1, 2, 3, 4, 5, 0x0c, 0x70, terms.random.below(256)]);
    const lpo = terms.random.chance(0.7) ? 0n : BigInt(terms.random.below(9000));
    return keyed(terms, command.setArguments(GET_LOG_PAGE, { lid, numd: bytes / 4 - 1, lpo }), bytes);
  },
  (terms) => {
    const command = new NvmeCommand().begin(AdminOpcode.SetFeatures);
    const fid = pick(terms.random, [...Object.values(Feature), terms.random.below(256)]);
    return sealed(terms, command.setArguments(FEATURES, { fid, value: terms.random.u32() }));
  },
  (terms) => {
    const command = new NvmeCommand().begin(AdminOpcode.GetFeatures);
    const fid = pick(terms.random, [...Object.values(Feature), terms.random.below(256)]);
    command.setArguments(FEATURES, { fid, value: terms.random.below(2) });
    return fid === Feature.HostIdentifier ? keyed(terms, command, 16) : sealed(terms, command);
  },
  (terms) => sealed(terms, new NvmeCommand().begin(AdminOpcode.AsyncEventRequest)),
  (terms) => sealed(terms, new NvmeCommand().begin(AdminOpcode.KeepAlive)),
  (terms) => {
    const cid = pick(terms.random, [...terms.outstanding, terms.random.below(0x1_00_00)]);
    return sealed(terms, new NvmeCommand().begin(AdminOpcode.Abort).setArguments(ABORT, { sqid: 0, cid }));
  },
  (terms) => {
    const command = new NvmeCommand().begin(FABRICS_OPCODE, FabricsType.PropertyGet);
    const offset = pick(terms.random, [...Object.values(PropertyOffset), terms.random.below(0x100)]);
    return sealed(terms, command.setArguments(PROPERTY, { offset, size: terms.random.below(2) }));
  },
  (terms) => enableCapsule(terms, pick(terms.random, [0x46_00_01, 0x46_00_01, 0, 0x46_40_01, terms.random.u32()])),
  (terms) => connectCapsule(terms, pick(terms.random, [...terms.subnqns, DISCOVERY_NQN]), terms.random.below(9), 0),
  (terms) => connectCapsule(terms, pick(terms.random, [...terms.subnqns, DISCOVERY_NQN]), 0xff_ff, 0),
  (terms) => sealed(terms, new NvmeCommand().begin(FABRICS_OPCODE, FabricsType.Disconnect)),
];

const IO: readonly Maker[] = [
  (terms) => blocks(terms, NvmOpcode.Read),
  (terms) => blocks(terms, NvmOpcode.Write),
  (terms) => inCapsule(terms, NvmOpcode.Write),
  (terms) => inCapsule(terms, NvmOpcode.Compare),
  (terms) => blocks(terms, NvmOpcode.Compare),
  (terms) => blocks(terms, NvmOpcode.Verify),
  (terms) => blocks(terms, NvmOpcode.WriteZeroes),
  (terms) => {
    const { random, host } = terms;
    const count = 1 + random.below(random.chance(0.1) ? 256 : 4);
    const command = new NvmeCommand();
    setDeallocation(command, 1 + random.below(4), count);
    const ranges = Array.from({ length: count }, () => ({
      lba: random.below(160),
      blocks: random.below(9),
      attributes: 0,
    }));
    host.bytes.set(encodeDsmRanges(ranges), 0);
    return keyed(terms, command, pick(random, [count * 16, 4096]), 0);
  },
  (terms) => sealed(terms, new NvmeCommand().begin(NvmOpcode.Flush, pick(terms.random, [1, 2, 3, 9, 0xff_ff_ff_ff]))),
];

function blocks(terms: CapsuleTerms, opcode: number): Uint8Array {
  const { random } = terms;
  const nsid = 1 + random.below(4);
  const count = pick(random, [1, 1 + random.below(8), 1 + random.below(40)]);
  const command = new NvmeCommand();
  setBlocks(command, opcode, nsid, random.below(nsid === 2 ? 34 : 132), count, { fua: random.chance(0.1) });
  return keyed(terms, command, count * (nsid === 2 ? 4096 : 512));
}

function inCapsule(terms: CapsuleTerms, opcode: number): Uint8Array {
  const { random } = terms;
  const count = 1 + random.below(8);
  const command = new NvmeCommand();
  setBlocks(command, opcode, pick(random, [1, 1, 1, 3]), random.below(124), count);
  const offset = random.chance(0.8) ? 0 : random.below(128);
  command.sgl.setInCapsule(offset, count * 512);
  const data = Uint8Array.from({ length: offset + count * 512 }, () => random.below(256));
  return sealed(terms, command, data);
}

/** With its data at a place of the host's memory. */
function keyed(terms: CapsuleTerms, command: NvmeCommand, length: number, at?: number): Uint8Array {
  const { random, host } = terms;
  const { iova, rkey } = host.memory;
  const offset = at ?? random.below(WINDOW - Math.min(length, WINDOW - 1));
  command.sgl.setKeyed(iova + BigInt(offset), length, rkey, random.chance(0.2));
  return sealed(terms, command);
}

function sealed({ random, outstanding }: CapsuleTerms, command: NvmeCommand, data = NO_DATA): Uint8Array {
  do command.cid = random.below(0x1_00_00);
  while (outstanding.includes(command.cid));
  const bytes = new Uint8Array(COMMAND_BYTES + data.length);
  writeCommand(viewOf(bytes), 0, command);
  bytes.set(data, COMMAND_BYTES);
  return bytes;
}

type Mutation = (bytes: Uint8Array, terms: CapsuleTerms) => Uint8Array;

/** Changes bytes in place. */
function inPlace(change: (view: DataView, terms: CapsuleTerms) => void): Mutation {
  return (bytes, terms) => {
    if (bytes.length >= COMMAND_BYTES) change(viewOf(bytes), terms);
    return bytes;
  };
}

const MUTATIONS: readonly Mutation[] = [
  inPlace((view, { random }) => {
    const bit = random.below(COMMAND_BYTES * 8);
    view.setUint8(bit >> 3, view.getUint8(bit >> 3) ^ (1 << (bit & 7)));
  }),
  inPlace((view, { random }) => view.setUint8(random.below(COMMAND_BYTES), random.below(256))),
  // Any dword: an edge, or anything.
  inPlace((view, { random }) => view.setUint32(4 * random.below(16), edge(random), true)),
  // Dwords 10 to 15 mean most.
  inPlace((view, { random }) => view.setUint32(40 + 4 * random.below(6), edge(random), true)),
  inPlace((view, { random }) => {
    const opcodes = [...Object.values(NvmOpcode), ...Object.values(AdminOpcode), FABRICS_OPCODE, random.below(256)];
    view.setUint8(0, pick(random, opcodes));
  }),
  // FUSE and PSDT.
  inPlace((view, { random }) => view.setUint8(1, pick(random, [0, 0x80, 0xc0, FLAGS_SGL | random.below(64)]))),
  inPlace((view, { random, outstanding }) => view.setUint16(2, pick(random, [...outstanding, 0, 0xff_ff]), true)),
  inPlace((view, { random }) => view.setUint32(4, pick(random, [0, 1, 2, 3, 4, 5, 6, 8, 1025, ...EDGES]), true)),
  // The descriptor: type and subtype, length, key, address.
  inPlace((view, { random }) => view.setUint8(39, pick(random, [0x40, 0x4f, 0x01, 0, 0x20, 0x30, random.below(256)]))),
  inPlace((view, { random }) => {
    const length = view.getUint32(32, true) & 0xff_ff_ff;
    const other = pick(random, [0, 1, length - 1, length + 1, length * 2, length + 512, 0xff_ff_ff, 1 << 20]);
    view.setUint32(32, ((view.getUint32(32, true) & 0xff_00_00_00) | (other & 0xff_ff_ff)) >>> 0, true);
  }),
  inPlace((view, { random }) =>
    view.setUint32(35, pick(random, [0, view.getUint32(35, true) ^ 1, random.u32()]), true),
  ),
  inPlace((view, { random }) => {
    const address = view.getBigUint64(24, true);
    const other = pick(random, [0n, 1n, address - 1n, address + BigInt(WINDOW), 2n ** 64n - 1n, 2n ** 63n, 4096n]);
    view.setBigUint64(24, BigInt.asUintN(64, other), true);
  }),
  // The whole disk with one descriptor.
  inPlace((view) => {
    view.setUint16(48, 0xff_ff, true);
    view.setUint32(32, view.getUint32(32, true) | 0xff_ff_ff, true);
  }),
  (bytes, { random }) => bytes.subarray(0, random.below(bytes.length + 1)),
  (bytes, { random }) => {
    const longer = new Uint8Array(bytes.length + 1 + random.below(pick(random, [16, 4096, 8192])));
    longer.set(bytes);
    return longer;
  },
];

const EDGES = [0x7f_ff_ff_ff, 0x80_00_00_00, 0xff_ff_ff_fe, 0xff_ff_ff_ff];

function edge(random: Prng): number {
  return pick(random, [0, 1, 7, 255, 256, 0xff_ff, 0x1_00_00, ...EDGES, random.u32()]);
}

/** One of them. */
export function pick<T>(random: Prng, of: readonly T[]): T {
  const found = of[random.below(of.length)];
  if (found === undefined) throw new Error('there is nothing to choose from');
  return found;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const NO_DATA = new Uint8Array(0);
