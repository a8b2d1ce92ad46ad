/** Scenes of `remote-access-error`: keys that do not allow the access, each for another reason. */
import { Access, WcStatus, WrOpcode } from 'rocev2/transport';
import { remote } from './end.ts';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

const SYMPTOM = 'remote-access-error';

/** All of them. */
export const REMOTE_ACCESS_ERROR_SCENES: readonly Scene[] = [
  {
    symptom: SYMPTOM,
    name: 'remote-access-wrong-key',
    triggers: true,
    about: 'A WRITE with a key that B never gave, after others with the right one.',
    make: () => play({ vantages: ['A'] }, wrongKey),
  },
  {
    symptom: SYMPTOM,
    name: 'remote-access-old-key',
    triggers: true,
    about: 'B registers its memory anew, and A goes on with the old key.',
    make: () => play({ vantages: ['A'] }, oldKey),
  },
  {
    symptom: SYMPTOM,
    name: 'remote-access-beyond-the-end',
    triggers: true,
    about: 'WRITEs march through a region and the last one reaches beyond its end, seen at B.',
    make: () => play({ vantages: ['B'] }, beyondTheEnd),
  },
  {
    symptom: SYMPTOM,
    name: 'remote-access-no-right',
    triggers: true,
    about: 'A reads what it may only write.',
    make: () => play({ vantages: ['A'] }, noRight),
  },
  {
    symptom: SYMPTOM,
    name: 'remote-access-first-request',
    triggers: true,
    about: 'An atomic is the first request of the connection: nothing is known of its key.',
    make: () => play({ vantages: ['A'] }, firstRequest),
  },
  {
    symptom: SYMPTOM,
    name: 'remote-access-invalidated',
    triggers: true,
    about: 'A SEND with invalidate kills the key that the next WRITE uses.',
    make: () => play({ vantages: ['A'] }, invalidated),
  },
  {
    symptom: SYMPTOM,
    name: 'remote-access-lost-write',
    triggers: false,
    about: 'A WRITE is lost and NAKed for its sequence number, and keys have nothing to do with it.',
    alsoFinds: ['sequence-error'],
    make: () => play({ vantages: ['A'] }, lostWrite),
  },
  {
    symptom: SYMPTOM,
    name: 'remote-access-zero-bytes',
    triggers: false,
    about: 'A WRITE of no bytes with a wrong key, which is allowed.',
    make: () => play({ vantages: ['A'] }, zeroBytes),
  },
];

async function wrongKey(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  for (let i = 0; i < 4; i++) demandStatus(await a.write(b, 3_000, { offset: i * 3_000 }), WcStatus.Success);
  demandStatus(await a.write(b, 3_000, { rkey: WRONG_KEY }), WcStatus.RemAccessErr);
  await stage.goOn(5e6);
}

async function oldKey(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  const region = b.region(1 << 14, WRITABLE);
  const to = remote(region);
  demandStatus(await a.request({ opcode: WrOpcode.RdmaWrite, ...to }, 3_000), WcStatus.Success);
  b.pd.deregMr(region);
  demandStatus(await a.request({ opcode: WrOpcode.RdmaWrite, ...to }, 3_000), WcStatus.RemAccessErr);
  await stage.goOn(5e6);
}

async function beyondTheEnd(stage: Stage): Promise<void> {
  const [host, peer] = [stage.host('A'), stage.host('B')];
  const { a, b } = await stage.connect(host, peer, { ipVersion: 6, mtu: 4096 });
  const region = b.region(1 << 14, WRITABLE);
  for (let offset = 0; offset + 4_000 <= 1 << 14; offset += 4_000) {
    const at = remote(region, { offset });
    demandStatus(await a.request({ opcode: WrOpcode.RdmaWrite, ...at }, 4_000), WcStatus.Success);
  }
  const beyond = remote(region, { offset: 16_000 });
  demandStatus(await a.request({ opcode: WrOpcode.RdmaWrite, ...beyond }, 4_000), WcStatus.RemAccessErr);
  await stage.goOn(5e6);
}

async function noRight(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  const to = remote(b.region(1 << 14, WRITABLE));
  demandStatus(await a.request({ opcode: WrOpcode.RdmaWrite, ...to }, 8_000), WcStatus.Success);
  demandStatus(await a.request({ opcode: WrOpcode.RdmaRead, ...to }, 8_000), WcStatus.RemAccessErr);
  await stage.goOn(5e6);
}

async function firstRequest(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { cm: true });
  demandStatus(await a.fetchAdd(b, { rkey: WRONG_KEY, offset: 64 }), WcStatus.RemAccessErr);
  await stage.goOn(5e6);
}

async function invalidated(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  b.receive(2);
  const region = b.pd.regMr(1 << 14, { access: WRITABLE, remoteInvalidate: true });
  const to = remote(region);
  demandStatus(await a.request({ opcode: WrOpcode.RdmaWrite, ...to }, 3_000), WcStatus.Success);
  const kill = { opcode: WrOpcode.SendWithInv, invalidateRkey: region.rkey } as const;
  demandStatus(await a.request(kill, 16), WcStatus.Success);
  demandStatus(await a.request({ opcode: WrOpcode.RdmaWrite, ...to }, 3_000), WcStatus.RemAccessErr);
  await stage.goOn(5e6);
}

async function lostWrite(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  stage.rule({ port: 'A', match: ({ bthOffset }) => bthOffset >= 0, nth: 7, action: 'drop' });
  for (let i = 0; i < 4; i++) demandStatus(await a.write(b, 8_000), WcStatus.Success);
}

async function zeroBytes(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  demandStatus(await a.write(b, 0, { rkey: WRONG_KEY }), WcStatus.Success);
  demandStatus(await a.write(b, 100), WcStatus.Success);
}

const WRITABLE = Access.LocalWrite | Access.RemoteWrite;
const WRONG_KEY = 0x1234_5678;
