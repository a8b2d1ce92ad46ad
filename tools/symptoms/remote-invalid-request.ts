/**
 * Scenes of `remote-invalid-request`: requests that break a rule which the responder checks, and odd ones that break
 * none.
 */
import { Op } from 'rocev2/packets';
import { Access, WcStatus, WrOpcode } from 'rocev2/transport';
import { remote } from './end.ts';
import { roceFrame, station } from './forge.ts';
import { aeth, reth } from './headers.ts';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

const SYMPTOM = 'remote-invalid-request';

/** All of them. */
export const REMOTE_INVALID_REQUEST_SCENES: readonly Scene[] = [
  {
    symptom: SYMPTOM,
    name: 'invalid-request-short-receive',
    triggers: true,
    about: 'A SEND of 5000 bytes into a receive of 2000.',
    make: () => play({ vantages: ['A'] }, shortReceive),
  },
  {
    symptom: SYMPTOM,
    name: 'invalid-request-not-permitted',
    triggers: true,
    about: 'A READ from a queue pair that does not allow any.',
    make: () => play({ vantages: ['A'] }, notPermitted),
  },
  {
    symptom: SYMPTOM,
    name: 'invalid-request-unaligned-atomic',
    triggers: true,
    about: 'FETCH ADD at an address that is not a multiple of eight.',
    alsoFinds: ['rule/atomic-alignment'],
    make: () => play({ vantages: ['B'] }, unalignedAtomic),
  },
  {
    symptom: SYMPTOM,
    name: 'invalid-request-sequence',
    triggers: true,
    about:
      'A stack that sends a WRITE Middle after a SEND First: the message before it is not finished. Frames by hand.',
    alsoFinds: ['rule/opcode-sequence'],
    make: () => play({ vantages: ['A'] }, wrongSequence),
  },
  {
    symptom: SYMPTOM,
    name: 'invalid-request-length',
    triggers: true,
    about: 'A stack whose WRITE carries fewer bytes than its RETH announces. Frames by hand.',
    alsoFinds: ['rule/write-length'],
    make: () => play({ vantages: ['A'] }, wrongLength),
  },
  {
    symptom: SYMPTOM,
    name: 'invalid-request-exact-receive',
    triggers: false,
    about: 'A SEND that fills its receive to the last byte, and atomics at multiples of eight.',
    make: () => play({ vantages: ['A'] }, exactReceive),
  },
];

async function shortReceive(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  b.receive(2, 2_000);
  demandStatus(await a.send(2_000), WcStatus.Success);
  demandStatus(await a.send(5_000), WcStatus.RemInvReqErr);
  await stage.goOn(5e6);
}

async function notPermitted(stage: Stage): Promise<void> {
  const access = Access.LocalWrite | Access.RemoteWrite;
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { access });
  demandStatus(await a.write(b, 4_000), WcStatus.Success);
  demandStatus(await a.read(b, 4_000), WcStatus.RemInvReqErr);
  await stage.goOn(5e6);
}

async function unalignedAtomic(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  demandStatus(await a.fetchAdd(b, { offset: 8 }), WcStatus.Success);
  demandStatus(await a.fetchAdd(b, { offset: 12 }), WcStatus.RemInvReqErr);
  await stage.goOn(5e6);
}

async function wrongSequence(stage: Stage): Promise<void> {
  const full = new Uint8Array(1024).fill(7);
  await stage.forgeAll([
    request(Op.SendOnly, 10, { payload: new Uint8Array(64), ackReq: 1 }),
    answer(10, ACK, 1),
    request(Op.SendFirst, 11, { payload: full }),
    request(Op.WriteMiddle, 12, { payload: full }),
    answer(12, NAK_INVALID_REQUEST, 1),
  ]);
  await stage.goOn(5e6);
}

async function wrongLength(stage: Stage): Promise<void> {
  const full = new Uint8Array(1024).fill(7);
  await stage.forgeAll([
    request(Op.WriteOnly, 10, { headers: reth(0x1000n, 0x55, 64), payload: new Uint8Array(64), ackReq: 1 }),
    answer(10, ACK, 1),
    request(Op.WriteFirst, 11, { headers: reth(0x1000n, 0x55, 5_000), payload: full }),
    request(Op.WriteLast, 12, { payload: new Uint8Array(200), ackReq: 1 }),
    answer(12, NAK_INVALID_REQUEST, 1),
  ]);
  await stage.goOn(5e6);
}

async function exactReceive(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  b.receive(2, 5_000);
  demandStatus(await a.send(5_000), WcStatus.Success);
  demandStatus(await a.send(0), WcStatus.Success);
  for (const offset of [0, 8, 16]) demandStatus(await a.fetchAdd(b, { offset }), WcStatus.Success);
  const swap = { opcode: WrOpcode.AtomicCmpAndSwp, compareAdd: 1n, swap: 2n, ...remote(b.mr, { offset: 24 }) } as const;
  demandStatus(await a.request(swap, 8), WcStatus.Success);
}

function request(
  opcode: number,
  psn: number,
  more: { readonly headers?: Uint8Array; readonly payload?: Uint8Array; readonly ackReq?: 0 | 1 },
): Uint8Array {
  return roceFrame({ from: station(1), to: station(2), opcode, destQpn: 0x22, psn, ipId: psn, ...more });
}

function answer(psn: number, syndrome: number, msn: number): Uint8Array {
  const headers = aeth(syndrome, msn);
  const ends = { from: station(2), to: station(1), destQpn: 0x11 };
  return roceFrame({ ...ends, opcode: Op.Acknowledge, psn, ipId: psn, headers });
}

const ACK = 0x1f;
const NAK_INVALID_REQUEST = 0x61;
