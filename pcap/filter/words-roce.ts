/**
 * Words for RoCE packets: services, operations, header fields, and defects of a single packet.
 *
 * Owns what they match. Words for the BTH match whenever `parseFrame` found a BTH. Words for later headers need a
 * complete packet. Rules: ref:wire#5 (opcodes), ref:wire#7 (syndromes).
 */
import { aethMsn, aethSyndrome, SYNDROME_KIND_MASK, Syndrome, SyndromeKind } from '../../packets/aeth.ts';
import { atomicRkey } from '../../packets/atomic-eth.ts';
import { CmAttribute, type CmKind, parseCmMad } from '../../packets/cm/index.ts';
import { dethQkey, dethSourceQpn } from '../../packets/deth.ts';
import { type Frame, FrameStatus } from '../../packets/frame.ts';
import { isMad } from '../../packets/frame-fields.ts';
import { iethRkey } from '../../packets/ieth.ts';
import { immDt } from '../../packets/imm-dt.ts';
import {
  AETH_AT,
  ATOMIC_ETH_AT,
  DETH_AT,
  IETH_AT,
  IMM_AT,
  OpFlag,
  RETH_AT,
  SERVICE_MASK,
  Service,
  XRCETH_AT,
} from '../../packets/opcode.ts';
import { PSN_MASK } from '../../packets/psn.ts';
import { rethDmaLength, rethRkey } from '../../packets/reth.ts';
import { xrcethXrcSrq } from '../../packets/xrceth.ts';
import { bth, extended } from './fast-fields.ts';
import { parseNumbers } from './numbers.ts';
import { OPCODE_GROUPS, OPCODE_NAMES, type OpcodeSet } from './opcode-names.ts';
import type { FilterSubject, Predicate } from './types.ts';
import { anyOf, choiceWord, type FilterWord, flagWord, numberWord } from './word.ts';

/** Words that `opcode` accepts though they share one opcode and differ in the syndrome. */
const ANSWERS: readonly string[] = ['ack', 'nak', 'rnr'];

const OUTLINE = { outline: true } as const;

/** Services and management. */
export const SERVICE_WORDS: readonly FilterWord[] = [
  flagWord('roce', 'RoCEv2: anything with a BTH', hasBth, { aliases: ['infiniband'], outline: true }),
  flagWord('rc', 'reliable connection', service(Service.Rc), OUTLINE),
  flagWord('uc', 'unreliable connection', service(Service.Uc), OUTLINE),
  flagWord('rd', 'reliable datagram', service(Service.Rd), OUTLINE),
  flagWord('ud', 'unreliable datagram', service(Service.Ud), OUTLINE),
  flagWord('xrc', 'extended reliable connection', service(Service.Xrc), OUTLINE),
  flagWord(
    'mad',
    'management datagram: a datagram to queue pair 1',
    (subject) => isOk(subject) && isMad(subject.dissection.frame),
  ),
  choiceWord('cm', 'message of connection management; of one of these kinds', cmChoices(), {
    name: 'KIND',
    alone: (subject) => cmKindOf(subject) !== undefined,
  }),
];

/** Operations and their answers. */
export const OPERATION_WORDS: readonly FilterWord[] = [
  opcodeWord(),
  ...OPCODE_GROUPS.map(([name, meaning]) => flagWord(name, meaning, isOneOf(OPCODE_NAMES.get(name)), OUTLINE)),
  flagWord(
    'ack',
    'positive acknowledgement',
    (subject) => isAcknowledge(subject) && kindOf(subject) === SyndromeKind.Ack,
    OUTLINE,
  ),
  choiceWord('nak', 'negative acknowledgement other than RNR; of one of these kinds', nakChoices(), {
    name: 'KIND',
    alone: isNak,
    outline: true,
  }),
  flagWord('rnr', 'RNR NAK: the receiver was not ready', (subject) => kindOf(subject) === SyndromeKind.RnrNak, OUTLINE),
];

/** Numbers of the headers. */
export const HEADER_WORDS: readonly FilterWord[] = [
  numberWord('qp', 'destination queue pair', {
    ...numbers24('a QPN'),
    aliases: ['dst qp'],
    outline: true,
    get: bth((frame) => frame.destQpn),
  }),
  numberWord('src qp', 'source queue pair of a datagram', {
    ...numbers24('a QPN'),
    get: extended(DETH_AT, dethSourceQpn),
  }),
  numberWord('psn', 'PSN; a range may pass 0xffffff', {
    ...numbers24('a PSN'),
    wraps: true,
    outline: true,
    get: bth((frame) => frame.psn),
  }),
  numberWord('msn', 'MSN of an ACK, a NAK or a READ response', {
    ...numbers24('an MSN'),
    wraps: true,
    get: extended(AETH_AT, aethMsn),
  }),
  numberWord('syndrome', 'syndrome of an AETH', {
    what: 'a syndrome',
    max: 255,
    outline: true,
    get: extended(AETH_AT, aethSyndrome),
  }),
  numberWord('pkey', 'P_Key', { what: 'a P_Key', max: 0xff_ff, get: bth((frame) => frame.pkey) }),
  numberWord('qkey', 'Q_Key of a datagram', { ...numbers32('a Q_Key'), get: extended(DETH_AT, dethQkey) }),
  numberWord('rkey', 'R_Key of a WRITE, READ, atomic or FLUSH, or one to be invalidated', {
    ...numbers32('an R_Key'),
    get: rkeyOf,
  }),
  numberWord('dma-len', 'DMA length: bytes of the whole message', {
    ...numbers32('a length'),
    get: extended(RETH_AT, rethDmaLength),
  }),
  numberWord('imm', 'immediate data, in network byte order', {
    ...numbers32('a number'),
    get: extended(IMM_AT, immDt),
  }),
  numberWord('xrcsrq', 'shared receive queue of XRC', {
    ...numbers24('a number'),
    get: extended(XRCETH_AT, xrcethXrcSrq),
  }),
  numberWord('payload', 'bytes of payload, pad excluded', {
    what: 'a length',
    max: 0xff_ff,
    outline: true,
    get: (subject) => (isOk(subject) ? subject.dissection.frame.payloadLength : Number.NaN),
  }),
  numberWord('pad', 'bytes of pad', { what: 'a pad count', max: 3, get: bth((frame) => frame.padCount) }),
  flagWord(
    'ackreq',
    'requests an ACK (AckReq is set)',
    bit((frame) => frame.ackReq),
  ),
  flagWord(
    'solicited',
    'solicited event',
    bit((frame) => frame.solicited),
  ),
  flagWord(
    'migreq',
    'MigReq',
    bit((frame) => frame.migReq),
  ),
  flagWord(
    'fecn',
    'FECN',
    bit((frame) => frame.fecn),
  ),
  flagWord(
    'becn',
    'BECN',
    bit((frame) => frame.becn),
  ),
];

function hasBth({ dissection }: FilterSubject): boolean {
  return dissection.frame.bthOffset >= 0;
}

function isOk({ dissection }: FilterSubject): boolean {
  return dissection.status === FrameStatus.Ok;
}

function service(wanted: number): Predicate {
  return (subject) => hasBth(subject) && (subject.dissection.frame.opcode & SERVICE_MASK) === wanted;
}

function bit(get: (frame: Frame) => number): Predicate {
  return (subject) => hasBth(subject) && get(subject.dissection.frame) === 1;
}

function rkeyOf(subject: FilterSubject): number {
  const { opcode } = subject.dissection.frame;
  if ((RETH_AT[opcode] ?? -1) >= 0) return RETH_RKEY(subject);
  return (ATOMIC_ETH_AT[opcode] ?? -1) >= 0 ? ATOMIC_RKEY(subject) : IETH_RKEY(subject);
}

function kindOf(subject: FilterSubject): number {
  const syndrome = SYNDROME(subject);
  return Number.isNaN(syndrome) ? syndrome : syndrome & SYNDROME_KIND_MASK;
}

function isAcknowledge({ dissection: { frame } }: FilterSubject): boolean {
  return (frame.flags & OpFlag.Ack) !== 0;
}

function isNak(subject: FilterSubject): boolean {
  return kindOf(subject) === SyndromeKind.Nak;
}

function nakChoices(): Record<string, Predicate> {
  const kinds = {
    sequence: Syndrome.NakSequence,
    'invalid-request': Syndrome.NakInvalidRequest,
    'remote-access': Syndrome.NakRemoteAccess,
    'remote-operational': Syndrome.NakRemoteOperational,
  };
  return Object.fromEntries(
    Object.entries(kinds).map(([name, syndrome]) => [name, (subject: FilterSubject) => SYNDROME(subject) === syndrome]),
  );
}

function cmKindOf({ dissection }: FilterSubject): CmKind | undefined {
  const { frame, status } = dissection;
  if (status !== FrameStatus.Ok || !isMad(frame)) return undefined;
  const mad = parseCmMad(frame.view, frame.payloadOffset, frame.payloadLength);
  return typeof mad === 'object' ? mad.message.kind : undefined;
}

function cmChoices(): Record<string, Predicate> {
  return Object.fromEntries(
    Object.keys(CmAttribute).map((kind) => [
      kind.toLowerCase().replace('_', '-'),
      (subject: FilterSubject) => cmKindOf(subject) === kind,
    ]),
  );
}

function isOneOf(opcodes: OpcodeSet | undefined): Predicate {
  return (subject) => hasBth(subject) && opcodes?.[subject.dissection.frame.opcode] === 1;
}

/** `opcode` takes names and numbers, several with commas; "ack", "nak" and "rnr" are those words. */
function opcodeWord(): FilterWord {
  const names = [...OPCODE_NAMES.keys(), ...ANSWERS];
  return {
    word: 'opcode',
    aliases: [],
    syntax: 'opcode NAME',
    meaning: 'one of these operations, by name or as a number',
    operand: 'required',
    expected: 'the name of an opcode such as write-first, or a number from 0 to 255',
    choices: names.sort(),
    analysis: false,
    needsPacket: false,
    bind: (text) => {
      const tests = text.startsWith('!') || /^[<>=]/.test(text) ? [opcodeTest(text)] : text.split(',').map(opcodeTest);
      const known = tests.filter((test) => test !== undefined);
      return known.length < tests.length ? undefined : anyOf(known);
    },
  };
}

function opcodeTest(text: string): Predicate | undefined {
  const name = text.toLowerCase();
  const opcodes = OPCODE_NAMES.get(name);
  if (opcodes !== undefined) return isOneOf(opcodes);
  if (ANSWERS.includes(name)) return OPERATION_WORDS.find(({ word }) => word === name)?.bind('');
  const test = parseNumbers(text, { max: 255 });
  return test && ((subject) => hasBth(subject) && test(subject.dissection.frame.opcode));
}

function numbers24(what: string) {
  return { what, max: PSN_MASK };
}

function numbers32(what: string) {
  return { what, max: 0xff_ff_ff_ff };
}

const SYNDROME = extended(AETH_AT, aethSyndrome);
const RETH_RKEY = extended(RETH_AT, rethRkey);
const ATOMIC_RKEY = extended(ATOMIC_ETH_AT, atomicRkey);
const IETH_RKEY = extended(IETH_AT, iethRkey);
