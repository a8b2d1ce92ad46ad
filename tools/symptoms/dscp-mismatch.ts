/**
 * Scenes of `dscp-mismatch`: directions, places and VLAN tags that disagree about the traffic class, and classes that
 * are only unusual.
 */

import type { SimulatedDeviceOptions } from 'rocev2';
import { IPV4_TOS_AT } from 'rocev2/packets/network';
import { WcStatus } from 'rocev2/transport';
import { mendChecksum, rewriteCapture } from './rewrite.ts';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const DSCP_MISMATCH_SCENES: readonly Scene[] = [
  {
    symptom: 'dscp-mismatch',
    name: 'dscp-directions',
    triggers: true,
    about:
      'A was given traffic class 104, B was forgotten: requests travel with DSCP 26, ACKs and READ responses with 0.',
    make: () => play({ vantages: ['A'] }, (stage) => traffic(stage, { path: { trafficClass: 104 } }, {})),
  },
  {
    symptom: 'dscp-mismatch',
    name: 'dscp-rewritten',
    triggers: true,
    about: 'A switch that does not trust DSCP sets it to 0: packets leave A with 26 and arrive at B without.',
    make: async () => {
      const both = { path: { trafficClass: 104 } };
      const file = await play({ vantages: ['A', 'B'] }, (stage) => traffic(stage, both, both));
      return rewriteCapture(file, ({ view, frame, bytes, interfaceIndex }) => {
        const fromA = bytes[11] === 1;
        // What arrives at the other side has been rewritten.
        if ((interfaceIndex === 1) === fromA) {
          view.setUint8(frame.ipOffset + IPV4_TOS_AT, 0);
          mendChecksum({ view, frame });
        }
        return true;
      });
    },
  },
  {
    symptom: 'dscp-mismatch',
    name: 'dscp-left-out',
    triggers: true,
    about: 'A and B use the class of RoCE; C and D use none, and their packets are dropped now and then.',
    alsoFinds: ['sequence-error'],
    make: () => play({ vantages: ['mirror'] }, leftOut),
  },
  {
    symptom: 'dscp-mismatch',
    name: 'dscp-vlan-priority',
    triggers: true,
    about: 'DSCP 26, but VLAN priority 0 in the tag, and packets are dropped.',
    make: () => play({ vantages: ['mirror'] }, (stage) => tagged(stage, 0.03)),
  },
  {
    symptom: 'dscp-mismatch',
    name: 'dscp-vlan-priority-harmless',
    triggers: false,
    about: 'The same without a loss: which of the two counts is up to the switch.',
    make: () => play({ vantages: ['mirror'] }, (stage) => tagged(stage, 0)),
  },
  {
    symptom: 'dscp-mismatch',
    name: 'dscp-zero-everywhere',
    triggers: false,
    about: 'DSCP 0 everywhere, as rdma_rxe sends, and some losses, which are another symptom.',
    make: () => play({ vantages: ['mirror'] }, (stage) => traffic(stage, {}, {}, 0.02)),
  },
  {
    symptom: 'dscp-mismatch',
    name: 'dscp-unusual',
    triggers: false,
    about: 'DSCP 46 in both directions: the choice of this network.',
    make: () =>
      play({ vantages: ['A'] }, (stage) =>
        traffic(stage, { path: { trafficClass: 184 } }, { path: { trafficClass: 184 } }),
      ),
  },
  {
    symptom: 'dscp-mismatch',
    name: 'dscp-cm-apart',
    triggers: false,
    about: 'Connection management with DSCP 0, data in both directions with 26, CNPs with 48: as it should be.',
    make: () => play({ vantages: ['B'] }, withManagement),
  },
];

type HostPart = Partial<SimulatedDeviceOptions>;

async function traffic(stage: Stage, forA: HostPart, forB: HostPart, loss = 0): Promise<void> {
  const [a, b] = [stage.host('A', forA), stage.host('B', forB)];
  const pair = await stage.connect(a, b);
  if (loss > 0) stage.faults(a, { loss });
  for (let i = 0; i < 8; i++) demandStatus(await pair.a.write(pair.b, 10_000), WcStatus.Success);
  demandStatus(await pair.a.read(pair.b, 20_000), WcStatus.Success);
}

async function leftOut(stage: Stage): Promise<void> {
  const roce = { path: { trafficClass: 104 } };
  const [a, b, c, d] = [stage.host('A', roce), stage.host('B', roce), stage.host('C'), stage.host('D')];
  const inside = await stage.connect(a, b);
  const outside = await stage.connect(c, d);
  stage.faults(c, { loss: 0.03 });
  for (let i = 0; i < 8; i++) {
    demandStatus(await inside.a.write(inside.b, 10_000), WcStatus.Success);
    demandStatus(await outside.a.write(outside.b, 10_000), WcStatus.Success);
  }
}

async function tagged(stage: Stage, loss: number): Promise<void> {
  const host = { vlan: { id: 5, priority: 0 }, path: { trafficClass: 104 } };
  await traffic(stage, host, host, loss);
}

async function withManagement(stage: Stage): Promise<void> {
  const congestion = { lineRateBps: 10e9, reaction: { kind: 'dcqcn', profile: 'paper' } } as const;
  const [a, b] = [stage.host('A', { congestion }), stage.host('B', { congestion })];
  const pair = await stage.connect(a, b, { cm: true });
  stage.faults(b, { ceMark: 0.1 }, 'receive');
  for (let i = 0; i < 4; i++) demandStatus(await pair.a.write(pair.b, 20_000), WcStatus.Success);
}
