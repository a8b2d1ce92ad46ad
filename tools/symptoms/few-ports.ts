/** More scenes of `port-polarisation`: few source ports for many queue pairs, and numbers of them that are enough. */
import { WcStatus } from 'rocev2/transport';
import type { Host } from './end.ts';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const FEW_PORTS_SCENES: readonly Scene[] = [
  {
    symptom: 'port-polarisation',
    name: 'two-ports-sixteen-queue-pairs',
    triggers: true,
    about: 'Sixteen queue pairs of A write to B from two ports in turn: two paths at most.',
    make: () => play({ vantages: ['A'] }, (stage) => toOneHost(stage, 16, (i) => 50_000 + (i % 2))),
  },
  {
    symptom: 'port-polarisation',
    name: 'one-port-four-hosts',
    triggers: true,
    about:
      'Sixteen queue pairs of A to four hosts, all from one port: only the addresses are left to tell flows apart.',
    make: () => play({ vantages: ['A'] }, (stage) => toHosts(stage, 16, 4)),
  },
  {
    symptom: 'port-polarisation',
    name: 'one-port-one-socket',
    triggers: true,
    about: 'Eight queue pairs over IPv6 through one UDP socket: its port is that of all, and the flow label is 0.',
    make: () =>
      play({ vantages: ['B'] }, (stage) =>
        toOneHost(
          stage,
          8,
          () => 4_791,
          () => 0,
        ),
      ),
  },
  {
    symptom: 'port-polarisation',
    name: 'one-port-flow-labels',
    triggers: false,
    about: 'The same port for all over IPv6, and each queue pair has its flow label, which routers may hash: a note.',
    make: () =>
      play({ vantages: ['A'] }, (stage) =>
        toOneHost(
          stage,
          12,
          () => 50_000,
          (i) => 1 + i,
        ),
      ),
  },
  {
    symptom: 'port-polarisation',
    name: 'three-share-a-port',
    triggers: false,
    about: 'Twelve queue pairs, of which three have the same port by chance.',
    make: () => play({ vantages: ['A'] }, (stage) => toOneHost(stage, 12, (i) => (i < 3 ? 50_000 : 50_000 + i))),
  },
  {
    symptom: 'port-polarisation',
    name: 'fifteen-ports-sixteen-queue-pairs',
    triggers: false,
    about: 'Sixteen queue pairs and fifteen ports.',
    make: () => play({ vantages: ['A'] }, (stage) => toOneHost(stage, 16, (i) => 50_000 + (i % 15))),
  },
  {
    symptom: 'port-polarisation',
    name: 'ports-by-number',
    triggers: false,
    about: 'A driver that gives 36 queue pairs twelve ports by their numbers: enough for any number of uplinks here.',
    make: () => play({ vantages: ['A'] }, (stage) => toOneHost(stage, 36, (i) => 50_000 + (i % 12))),
  },
  {
    symptom: 'port-polarisation',
    name: 'one-port-many-hosts',
    triggers: false,
    about: 'Twelve queue pairs of A to twelve hosts, all from one port: their addresses tell them apart.',
    make: () => play({ vantages: ['A'] }, (stage) => toHosts(stage, 12, 12)),
  },
];

/** @param labelOf the flow label of each, over IPv6 */
async function toOneHost(
  stage: Stage,
  count: number,
  portOf: (index: number) => number,
  labelOf?: (index: number) => number,
): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  for (let i = 0; i < count; i++) {
    const version = labelOf === undefined ? {} : { ipVersion: 6 as const, flowLabel: labelOf(i) };
    await write(stage, a, b, { sourcePort: portOf(i), ...version });
  }
}

async function toHosts(stage: Stage, count: number, hosts: number): Promise<void> {
  const a = stage.host('A');
  const peers = Array.from({ length: hosts }, (_, i) => stage.host(`B${i}`));
  for (let i = 0; i < count; i++) {
    const peer = peers[i % hosts];
    if (peer !== undefined) await write(stage, a, peer, { sourcePort: 50_000 });
  }
}

async function write(stage: Stage, a: Host, b: Host, options: Parameters<Stage['connect']>[2]): Promise<void> {
  const pair = await stage.connect(a, b, options);
  demandStatus(await pair.a.write(pair.b, 3_000), WcStatus.Success);
}
