/** Two devices in a simulated world, and perftest between them in virtual time. */
import type { FaultSpec } from '../../../src/faults/fault-spec.ts';
import { attachDevice, type Device, IpAddress, RoceError, World } from '../../../src/index.ts';
import { decide, type PerfChoices } from '../../../tools/perf/options.ts';
import { runPerf } from '../../../tools/perf/run.ts';
import type { PerfContext } from '../../../tools/perf/session.ts';
import { Transcript } from '../rping/support.ts';

export const SERVER = IpAddress.parse('10.0.0.1');
export const SERVER_V6 = IpAddress.parse('fd00::1');

export interface PerfPair {
  readonly world: World;
  readonly server: Device;
  readonly client: Device;
}

export function makePerfPair(faults: FaultSpec = {}, seed = 1): PerfPair {
  const world = new World({ seed, faults });
  const device = (n: number) =>
    attachDevice(world, `device ${n}`, { addresses: [`10.0.0.${n}/24`, `fd00::${n}/64`], mtu: 4200 });
  return { world, server: device(1), client: device(2) };
}

export interface Played {
  readonly code: number;
  readonly lines: readonly string[];
}

/** Both roles with the same choices; what one of them is to have of its own is in `ofServer` and `ofClient`. */
export async function playPair(
  { world, server, client }: PerfPair,
  choices: Omit<PerfChoices, 'server'>,
  { ofServer = {}, ofClient = {}, address = SERVER }: PlayOptions = {},
): Promise<{ readonly server: Played; readonly client: Played }> {
  const serving = play(world, server, { ...choices, ...ofServer });
  const asking = play(world, client, { ...choices, server: address, ...ofClient });
  const [served, asked] = await world.run(Promise.all([serving, asking]));
  return { server: served, client: asked };
}

export interface PlayOptions {
  readonly ofServer?: Partial<PerfChoices>;
  readonly ofClient?: Partial<PerfChoices>;
  readonly address?: IpAddress;
}

export async function play(world: World, device: Device, choices: PerfChoices, signal?: AbortSignal): Promise<Played> {
  const options = decide(choices);
  if (typeof options === 'string') throw new Error(options);
  const output = new Transcript();
  const code = await runPerf(contextOf(world, device, output, signal), () => tcpOf(device), options);
  return { code, lines: output.lines };
}

export function contextOf(world: World, device: Device, output: Transcript, signal?: AbortSignal): PerfContext {
  return {
    device,
    output,
    signal: signal ?? new AbortController().signal,
    clock: () => world.now,
    turn: () => Promise.resolve(),
    sleep: (ns) => world.sleep(ns),
    randomPsn: () => world.random.u32() >>> 8,
  };
}

function tcpOf({ tcp }: Device) {
  if (tcp === undefined) throw new RoceError('ERR_ROCE_STATE', 'a device on Ethernet has TCP');
  return tcp;
}
