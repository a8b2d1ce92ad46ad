/**
 * Goal: a network that carries no payload is the same network to whoever measures or looks: the same times, the same
 * frames, byte for byte. And from version to version.
 * Method: runs with and without payload, compared by digests of every frame on every link; digests that an earlier
 * version, which carried payloads and copied them, has left.
 */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { FrameWriter } from '../../../packets/frame-writer.ts';
import { BlankMemory } from '../../../src/sim/blank-memory.ts';
import { isCuttable } from '../../../src/sim/switching/blank-payload.ts';
import { SwitchedNetwork, type SwitchOptions } from '../../../src/sim/switching/index.ts';
import { fatTree, star } from '../../../src/sim/topology/index.ts';
import { World } from '../../../src/sim/world.ts';
import { FabricRig, type RigOptions, type WriteFlow } from '../../../tools/bench/fabric-rig.ts';
import { packet, Station } from './support.ts';

const LINK = { rateBps: 100e9, delayNs: 1000 };
const ECN = { kminBytes: 20_000, kmaxBytes: 80_000, pmax: 0.2 };

/** Everything that can be seen of a run. */
function outcome(options: RigOptions, flows: readonly WriteFlow[], bytes: number, watched = true) {
  const rig = new FabricRig({ mtu: 1024, ...options });
  const hash = createHash('sha1');
  if (watched) {
    rig.network.tap = {
      frame: (now, port, direction, frame, start, end, fate, serial) => {
        hash.update(`${now} ${port.name} ${direction} ${fate} ${serial}`);
        hash.update(frame.subarray(start, end));
      },
    };
  }
  rig.write(flows, bytes);
  rig.run();
  const { now, events, counters } = rig.network;
  return { digest: watched ? hash.digest('hex').slice(0, 16) : '', now, events, steps: rig.world.steps, counters };
}

const incast = (senders: number): WriteFlow[] => Array.from({ length: senders }, (_, i) => ({ from: i + 1, to: 0 }));

describe('without payload', () => {
  const kinds: [string, SwitchOptions][] = [
    ['pauses', { flowControl: 'pfc', staticXoffBytes: 20_000, ecn: ECN }],
    ['credits', { flowControl: 'credits' }],
    ['drops', { bufferBytes: 30_000 }],
    ['cut-through', { forwarding: 'cut-through' }],
  ];
  it.each(kinds)('a run with %s has the same times and the same frames', (_kind, switches) => {
    const run = (payload: 'carried' | 'blank', watched: boolean) =>
      outcome({ topology: star({ hosts: 5, link: LINK }), switches, payload }, incast(4), 50_001, watched);
    const blank = run('blank', true);
    expect(blank).toEqual(run('carried', true));
    expect(run('blank', false)).toEqual({ ...blank, digest: '' });
  });

  it('short frames are carried whole, whatever they are', () => {
    const network = new SwitchedNetwork({ topology: star({ hosts: 2, link: LINK }), seed: 1, payload: 'blank' });
    const world = new World({ seed: 1, network });
    const [sender, receiver] = network.hosts.map(({ name, host }) =>
      world.attach(name, (own) => new Station(own, host)),
    );
    if (receiver === undefined) throw new Error('the star has two hosts');
    receiver.keep = true;
    sender?.send({ to: 1, bytes: 128 });
    world.runUntilIdle();
    expect(receiver.frames).toEqual([packet(0, { to: 1, bytes: 128 }, 0)]);
  });

  it('longer frames that are no data of a reliable connection are an error of the caller', () => {
    const network = new SwitchedNetwork({ topology: star({ hosts: 2, link: LINK }), seed: 1, payload: 'blank' });
    const world = new World({ seed: 1, network });
    const bytes = packet(0, { to: 1, bytes: 129 }, 0);
    new DataView(bytes.buffer).setUint16(36, 4792);
    world.attach(network.hosts[0]?.name ?? '', () => ({
      receive: () => undefined,
      transmit: (writer: FrameWriter) => {
        writer.appendRaw(bytes, 0, bytes.length);
        return false;
      },
      nextDeadline: () => Infinity,
      handleTimeouts: () => undefined,
    }));
    expect(() => world.step()).toThrow(expect.objectContaining({ code: 'ERR_ROCE_UNSUPPORTED' }));
  });

  it('an ICRC of the device is no option', () => {
    const options = { topology: star({ hosts: 2, link: LINK }), seed: 1, icrcOffload: false } as const;
    expect(() => new SwitchedNetwork({ ...options, payload: 'blank' })).toThrow(/icrcOffload/);
    expect(new SwitchedNetwork({ ...options, payload: 'carried' }).now).toBe(0);
  });
});

it.each([
  ['SEND FIRST', 14, 0x00, true],
  ['ATOMIC ACKNOWLEDGE', 14, 0x12, true],
  ['UC SEND ONLY', 14, 0x24, false],
  ['UD SEND ONLY', 14, 0x64, false],
  ['XRC SEND ONLY', 14, 0xa4, false],
])('of the services, the reliable connection alone is cut: %s', (_name, ip, opcode, cuttable) => {
  const bytes = packet(0, { to: 1, bytes: 200 }, opcode * 2 ** 24);
  const view = new DataView(bytes.buffer);
  expect(isCuttable(view, ip, 200)).toBe(cuttable);
  view.setUint8(ip + 9, 6);
  expect(isCuttable(view, ip, 200)).toBe(false);
  view.setUint8(ip + 9, 17);
  expect(isCuttable(view, ip, ip + 39)).toBe(false);
});

it('blank memory is zeros, whatever is written', () => {
  const memory = new BlankMemory(2 ** 40);
  const bytes = new Uint8Array(8).fill(7);
  expect([memory.length, memory.write(), memory.read(5, bytes, 2, 3)]).toEqual([2 ** 40, true, true]);
  expect([...bytes]).toEqual([7, 7, 0, 0, 0, 7, 7, 7]);
});

describe('the frames are those of the version that copied every payload', () => {
  it('with DCQCN and CNPs', () => {
    const congestion = {
      reaction: { kind: 'dcqcn', profile: 'mlx' },
      notification: {},
      ...{ lineRateBps: 100e9, maxBurstBytes: 0 },
    } as const;
    const topology = star({ hosts: 9, link: LINK });
    const run = outcome({ topology, switches: { flowControl: 'pfc', ecn: ECN }, congestion }, incast(8), 400_000);
    expect(run).toMatchObject({ digest: '8715da3ee4ca510a', now: 274_684, events: 16_699, steps: 8627 });
    expect(run.counters).toMatchObject({ sent: 6304, delivered: 6304, marked: 3050 });
  });

  it('with credits', () => {
    const topology = star({ hosts: 5, link: LINK });
    const run = outcome({ topology, switches: { flowControl: 'credits' } }, incast(4), 200_000);
    expect(run).toMatchObject({ digest: '099672c6205e650d', now: 72_757, events: 7835, steps: 1900 });
  });

  it('across a fat tree', () => {
    const topology = fatTree({ k: 4, link: LINK });
    const flows = Array.from({ length: 16 }, (_, from) => ({ from, to: (from + 8) % 16 }));
    const run = outcome({ topology, switches: { flowControl: 'pfc', ecn: ECN } }, flows, 100_000);
    expect(run).toMatchObject({ digest: '475bc6d428f5a4ba', now: 31_587, events: 28_866, steps: 1992 });
  });
});
