/**
 * Goal: host control of our own device and those of an agent on a host mean the same by the same calls. Method: the
 * compliance suite on the agent in a guest of the lab, whose device speaks to itself.
 */
import { afterAll, beforeAll } from 'vitest';
import { startAgent } from '../../../../tools/conformance/agent/in-guest.ts';
import { AgentClient } from '../../../../tools/conformance/host-control/client.ts';
import type { Feature } from '../../../../tools/conformance/host-control/host-control.ts';
import { Guest } from '../../../../tools/lab/guest.ts';
import { buildImage } from '../../../../tools/lab/image.ts';
import { describeWith } from '../../../support/need.ts';
import { describeHostControl } from './compliance.ts';

describeWith(['lab', 'compiler'], 'host control by way of the agent in a guest with Linux 6.12', () => {
  let guest: Guest | undefined;
  let hostControl: AgentClient | undefined;

  beforeAll(async () => {
    guest = await Guest.boot({ image: await buildImage('6.12'), addresses: [`${ADDRESS}/24`], hostControl: true });
    const { socket } = await startAgent(guest);
    hostControl = await AgentClient.open(socket, { answerTimeoutMs: 60_000 });
  }, 300_000);

  afterAll(async () => {
    await hostControl?.close();
    await guest?.stop();
  });

  describeHostControl('the agent', { features: FEATURES, conforms: false }, async () => {
    const here = hostControl;
    if (here === undefined) throw new Error('the guest did not boot');
    const index = here.description.gids.find(({ address, type }) => address === ADDRESS && type === 'v2')?.index ?? -1;
    const gid = { index, address: ADDRESS };
    return {
      ...{ left: here, right: here, leftGid: gid, rightGid: gid },
      run: (promise) => promise,
      // What is asked takes time enough.
      pass: async () => {},
      close: async () => {
        await here.call('reset', {});
      },
    };
  });
});

const ADDRESS = '10.77.0.2';
/** All but mcast: a device alone on its wire hears no group. */
const FEATURES: readonly Feature[] = ['uc', 'ud', 'srq', 'mw2', 'atomics', 'flush', 'atomic-write', 'cm'];
