/** A host and a scripted target in the simulated world. */
import type { World } from '../../../../src/index.ts';
import {
  connectNvme,
  type NvmeConnectOptions,
  type NvmeController,
  type NvmeTimers,
} from '../../../../src/ulp/nvme/host/index.ts';
import { makePair, type Pair, type PairOptions } from '../../../device/support.ts';
import { type ScriptedOptions, ScriptedTarget } from './scripted-target.ts';

export const NQN = 'nqn.2026-11.example:disk';
export const HOST = { hostnqn: 'nqn.2014-08.org.nvmexpress:uuid:4f1c0b9e', hostid: new Uint8Array(16).fill(3) };

export function timersOf(world: World): NvmeTimers {
  return {
    after(durationNs, then) {
      let wanted = true;
      void world.sleep(durationNs).then(() => {
        if (wanted) then();
      });
      return () => {
        wanted = false;
      };
    },
  };
}

export interface Rig extends Pair {
  readonly target: ScriptedTarget;
  readonly options: NvmeConnectOptions;
  connect(more?: Partial<NvmeConnectOptions>): Promise<NvmeController>;
}

export function makeRig(scripted: ScriptedOptions = {}, pairOptions: PairOptions = {}): Rig {
  const pair = makePair(pairOptions);
  const target = new ScriptedTarget(pair.b, scripted);
  const options: NvmeConnectOptions = {
    address: '10.0.0.2',
    subnqn: NQN,
    ...HOST,
    timers: timersOf(pair.world),
    queueSize: 8,
    reconnectDelayMs: 100,
  };
  const connect = (more = {}): Promise<NvmeController> => pair.world.run(connectNvme(pair.a, { ...options, ...more }));
  return { ...pair, target, options, connect };
}

/** `length` bytes, each different from its neighbours. */
export function pattern(length: number, first = 0): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (first + i * 7 + (i >> 8)) & 0xff);
}
