/**
 * Scenes of `remote-operational-error`: a responder that fails for a reason of its own, and one that only has no
 * receive posted.
 */
import { WcStatus } from 'rocev2/transport';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

const SYMPTOM = 'remote-operational-error';

/** All of them. */
export const REMOTE_OPERATIONAL_ERROR_SCENES: readonly Scene[] = [
  {
    symptom: SYMPTOM,
    name: 'operational-error-freed-receive',
    triggers: true,
    about: 'B frees the memory of a receive that is still posted; the SEND that falls into it fails.',
    make: () => play({ vantages: ['A'] }, freedReceive),
  },
  {
    symptom: SYMPTOM,
    name: 'operational-error-two-pairs',
    triggers: true,
    about: 'The same on two connections one after the other, seen at B.',
    make: () => play({ vantages: ['B'] }, twoPairs),
  },
  {
    symptom: SYMPTOM,
    name: 'operational-error-live-receive',
    triggers: false,
    about: 'B frees other memory than that of its receives.',
    make: () => play({ vantages: ['A'] }, liveReceive),
  },
];

async function freedReceive(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  const region = b.region(1 << 14, 1);
  b.receive();
  demandStatus(await a.send(3_000), WcStatus.Success);
  b.qp.postRecv({ wrId: 9, sges: [{ mr: region }] });
  b.pd.deregMr(region);
  demandStatus(await a.send(3_000), WcStatus.RemOpErr);
  await stage.goOn(5e6);
}

async function twoPairs(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  for (let i = 0; i < 2; i++) {
    const { a: left, b: right } = await stage.connect(a, b);
    const region = right.region(1 << 14, 1);
    right.qp.postRecv({ wrId: 9, sges: [{ mr: region }] });
    right.pd.deregMr(region);
    demandStatus(await left.send(100), WcStatus.RemOpErr);
    await stage.sleep(1e6);
  }
  await stage.goOn(5e6);
}

async function liveReceive(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  const region = b.region(1 << 14, 1);
  b.receive(2);
  demandStatus(await a.send(3_000), WcStatus.Success);
  b.pd.deregMr(region);
  demandStatus(await a.send(3_000), WcStatus.Success);
}
