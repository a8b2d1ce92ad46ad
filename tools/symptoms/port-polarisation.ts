/** Scenes of `port-polarisation`: queue pairs that share a source port, and others that do not. */
import { WcStatus } from 'rocev2/transport';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const PORT_POLARISATION_SCENES: readonly Scene[] = [
  {
    symptom: 'port-polarisation',
    name: 'one-port-eight-queue-pairs',
    triggers: true,
    about: 'Eight queue pairs of A write to B, all from port 50000.',
    make: () => play({ vantages: ['A'] }, (stage) => pairs(stage, 8, 50_000)),
  },
  {
    symptom: 'port-polarisation',
    name: 'one-port-both-vantages',
    triggers: true,
    about: 'The same seen at both hosts, and with nine queue pairs.',
    make: () => play({ vantages: ['A', 'B'] }, (stage) => pairs(stage, 9, 50_000)),
  },
  {
    symptom: 'port-polarisation',
    name: 'own-ports',
    triggers: false,
    about: 'Twelve queue pairs, each with a port of its own, as is the default.',
    make: () => play({ vantages: ['A'] }, (stage) => pairs(stage, 12)),
  },
  {
    symptom: 'port-polarisation',
    name: 'one-port-few-queue-pairs',
    triggers: false,
    about: 'Seven queue pairs with one port: few enough to be chance, or of no weight.',
    make: () => play({ vantages: ['A'] }, (stage) => pairs(stage, 7, 50_000)),
  },
];

async function pairs(stage: Stage, count: number, sourcePort?: number): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  for (let i = 0; i < count; i++) {
    const pair = await stage.connect(a, b, sourcePort === undefined ? {} : { sourcePort });
    demandStatus(await pair.a.write(pair.b, 3_000), WcStatus.Success);
  }
}
