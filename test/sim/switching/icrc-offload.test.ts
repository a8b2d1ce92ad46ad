/**
 * Goal: a network that makes and verifies ICRCs for its hosts shows whole frames to whoever looks, and devices that do
 * it themselves fare the same. Method: an incast with either; every frame on every link parsed, and what arrives
 * compared.
 */
import { describe, expect, it } from 'vitest';
import { Frame, FrameStatus, Medium, parseFrame } from '../../../packets/frame.ts';
import { icrcMatches } from '../../../packets/icrc.ts';
import { star } from '../../../src/sim/topology/index.ts';
import { FabricRig } from '../../../tools/bench/fabric-rig.ts';

describe('ICRC offload', () => {
  it('shows frames whose ICRC is right, which are the same as those of devices that make it themselves', () => {
    const run = (icrcOffload: boolean): string[] => {
      const topology = star({ hosts: 3, link: { rateBps: 100e9, delayNs: 1000 } });
      const rig = new FabricRig({
        topology,
        icrcOffload,
        switches: { ecn: { kminBytes: 2000, kmaxBytes: 5000, pmax: 1 } },
      });
      const seen: string[] = [];
      const frame = new Frame();
      rig.network.tap = {
        frame: (now, port, direction, bytes, start, end) => {
          const view = new DataView(bytes.buffer);
          expect(parseFrame(bytes, view, start, end, Medium.Ethernet, frame)).toBe(FrameStatus.Ok);
          expect(icrcMatches(frame)).toBe(true);
          seen.push(`${now} ${port.name} ${direction} ${frame.opcode} ${frame.psn} ${view.getUint32(end - 4)}`);
        },
      };
      rig.write(
        [
          { from: 1, to: 0 },
          { from: 2, to: 0 },
        ],
        20_000,
      );
      rig.run();
      return seen;
    };
    const offloaded = run(true);
    expect(offloaded.length).toBeGreaterThan(300);
    expect(offloaded).toEqual(run(false));
  });

  it('leaves an ICRC of 0 in frames that nobody looks at, and delivers them', () => {
    const topology = star({ hosts: 2, link: { rateBps: 100e9, delayNs: 1000 } });
    const rig = new FabricRig({ topology });
    const deliver = rig.network.hosts;
    rig.write([{ from: 1, to: 0 }], 3000);
    const { sink } = deliver[0] ?? {};
    const trailers: number[] = [];
    const receive = sink?.receive.bind(sink);
    if (sink === undefined || receive === undefined) throw new Error('host 0 listens');
    sink.receive = (batch) => {
      for (let i = 0; i < batch.count; i++)
        trailers.push(batch.view.getUint32((batch.starts[i] ?? 0) + (batch.lengths[i] ?? 0) - 4));
      receive(batch);
    };
    rig.run();
    expect(trailers).toEqual([0, 0, 0]);
    expect(rig.completed).toBe(1);
  });
});
