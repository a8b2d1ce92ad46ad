/**
 * Scenes of `icrc-invalid`: senders with a wrong recipe, address translation, damage, and captures that only look like
 * it.
 */

import { maskVariantFields, Op } from 'rocev2/packets';
import { WcStatus } from 'rocev2/transport';
import { roceFrame, station } from './forge.ts';
import { mendChecksum, rewriteCapture } from './rewrite.ts';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const ICRC_INVALID_SCENES: readonly Scene[] = [
  {
    symptom: 'icrc-invalid',
    name: 'icrc-invalid-castagnoli',
    triggers: true,
    about: 'A home-made sender computes the ICRC with CRC-32C. It gets no response, and retransmits.',
    make: () => play({ vantages: ['A'] }, (stage) => repeated(stage, withCastagnoli)),
  },
  {
    symptom: 'icrc-invalid',
    name: 'icrc-invalid-big-endian',
    triggers: true,
    about: 'A sender stores the right ICRC with its most significant byte first.',
    make: () => play({ vantages: ['A'] }, (stage) => repeated(stage, bigEndian)),
  },
  {
    symptom: 'icrc-invalid',
    name: 'icrc-invalid-nat',
    triggers: true,
    about:
      'Requests of a host behind NAT, captured behind it: the address is another than the one that the ICRC was computed with.',
    make: () => play({ vantages: ['A'] }, (stage) => repeated(stage, translated)),
  },
  {
    symptom: 'icrc-invalid',
    name: 'icrc-invalid-damage',
    triggers: true,
    about: 'A cable turns bits over now and then; damaged packets are retransmitted.',
    make: () => play({ vantages: ['B'], seed: 5 }, damage),
  },
  {
    symptom: 'icrc-invalid',
    name: 'icrc-invalid-anonymised',
    triggers: false,
    about:
      'A sound capture in which all addresses were replaced afterwards: every ICRC is wrong, and every request has its response.',
    make: async () => anonymised(await play({ vantages: ['A'] }, sound)),
  },
  {
    symptom: 'icrc-invalid',
    name: 'icrc-invalid-cut',
    triggers: false,
    about: 'A capture that keeps 80 bytes of each packet, and so no ICRC of the longer ones.',
    make: () => play({ vantages: ['A'], snapLength: 80 }, sound),
  },
];

async function repeated(stage: Stage, spoil: (frame: Uint8Array) => Uint8Array): Promise<void> {
  const frames = [101, 40, 258, 7].map((length, index) => spoil(request(100 + index, length)));
  for (let round = 0; round < 4; round++) {
    await stage.forgeAll(frames);
    await stage.sleep(1e6);
  }
}

async function damage(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const { a: left, b: right } = await stage.connect(a, b);
  stage.faults(a, { corrupt: 0.02 });
  for (let i = 0; i < 4; i++) demandStatus(await left.write(right, 40_000), WcStatus.Success);
}

async function sound(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { cm: true });
  for (const length of [3, 5_000, 40_000]) demandStatus(await a.write(b, length), WcStatus.Success);
  demandStatus(await a.read(b, 9_001), WcStatus.Success);
}

function request(psn: number, length: number): Uint8Array {
  return roceFrame({
    from: station(1),
    to: station(2),
    opcode: Op.SendOnly,
    destQpn: 0x11,
    psn,
    ackReq: 1,
    ipId: psn * 3,
    payload: Uint8Array.from({ length }, (_, at) => at * 5 + psn),
  });
}

function withCastagnoli(frame: Uint8Array): Uint8Array {
  const bytes = frame.slice();
  const end = bytes.length - 4;
  const covered = bytes.slice(IP_AT, end);
  maskVariantFields(new DataView(covered.buffer), 0, 4);
  const register = castagnoli(castagnoli(0xff_ff_ff_ff, new Uint8Array(8).fill(0xff)), covered);
  new DataView(bytes.buffer).setUint32(end, ~register >>> 0, true);
  return bytes;
}

/** Register of a CRC-32C after `bytes`. Bit by bit, so that it shares nothing with the analyzer. */
function castagnoli(register: number, bytes: Uint8Array): number {
  let crc = register;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ ((crc & 1) * 0x82_f6_3b_78);
  }
  return crc;
}

function bigEndian(frame: Uint8Array): Uint8Array {
  const bytes = frame.slice();
  bytes.subarray(-4).reverse();
  return bytes;
}

/** The source becomes 203.0.113.5. */
function translated(frame: Uint8Array): Uint8Array {
  const bytes = frame.slice();
  bytes.set([203, 0, 113, 5], IP_AT + 12);
  mendChecksum({ view: new DataView(bytes.buffer), frame: { ipVersion: 4, ipOffset: IP_AT } });
  return bytes;
}

function anonymised(file: Uint8Array): Uint8Array {
  return rewriteCapture(file, ({ bytes, view, frame }) => {
    for (const at of [frame.ipOffset + 12, frame.ipOffset + 16]) bytes.set([172, 20], at);
    mendChecksum({ view, frame });
    return true;
  });
}

const IP_AT = 14;
