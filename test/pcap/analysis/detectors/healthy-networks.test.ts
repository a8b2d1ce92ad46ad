/**
 * Goal: sound networks raise no alarm of congestion control, pauses, classes, ports, READs or connections, however busy
 * they are. Method: simulations with DCQCN and PFC, captured at the hosts as `roce sim` captures them; and sound scenes
 * of symptoms 11 to 20, begun and ended anywhere, with packets that the capture lost. A network whose only congestion
 * control are pauses is the counterexample: it is told of.
 */
import { describe, expect, it } from 'vitest';
import { LinkType, PcapngWriter } from '../../../../pcap/index.ts';
import {
  buildTopology,
  type FabricTap,
  Prng,
  portName,
  type SimulationOptions,
  simulate,
  type Topology,
} from '../../../../src/sim/index.ts';
import { alarms, analyze, packetsOf, sceneNamed } from './support.ts';

const LINK = { rateBps: 10e9, delayNs: 1_000 };
const PAPER = { reaction: { kind: 'dcqcn', profile: 'paper' }, lineRateBps: 10e9 } as const;
const MLX = { reaction: { kind: 'dcqcn', profile: 'mlx' }, lineRateBps: 10e9 } as const;
const ECN = { kminBytes: 5_000, kmaxBytes: 200_000, pmax: 0.1 };

/** Frames at the hosts' own ports. */
function hostTap(topology: Topology, writer: PcapngWriter): FabricTap {
  const seen = new Map<string, number>();
  for (const { a, aPort, b, bPort } of topology.edges) {
    for (const [host, port, peer, peerPort] of [[a, aPort, b, bPort] as const, [b, bPort, a, aPort] as const]) {
      if (host >= topology.hostCount) continue;
      const index = writer.addInterface({ name: `host${host}`, linkType: LinkType.Ethernet });
      seen.set(`${portName(topology, host, port)} out`, index);
      seen.set(`${portName(topology, peer, peerPort)} in`, index);
    }
  }
  return {
    frame: (now, port, direction, bytes, start, end) => {
      const index = seen.get(`${port.name} ${direction}`);
      if (index !== undefined) writer.packet(index, bytes, start, end, Math.floor(now / 1e9), now % 1e9);
    },
  };
}

function captured(options: Omit<SimulationOptions, 'seed' | 'tap'>, seed = 1) {
  const writer = new PcapngWriter();
  const result = simulate({ ...options, seed, tap: hostTap(options.topology, writer) });
  return { result, packets: packetsOf(writer.take()) };
}

function incast(senders: number, bytes: number) {
  return Array.from({ length: senders }, (_, src) => ({ src, dst: senders, bytes, startNs: 0 }));
}

const star = (hosts: number) => buildTopology({ kind: 'star', hosts, link: LINK });

describe('a simulated network', () => {
  for (const [name, congestion] of [
    ['paper', PAPER],
    ['mlx', MLX],
  ] as const) {
    it(`with DCQCN as ${name} has it marks, notifies and pauses without an alarm`, () => {
      const { result, packets } = captured({
        topology: star(5),
        congestion,
        switches: { flowControl: 'pfc', ecn: ECN },
        flows: incast(4, 200_000),
      });
      const analysis = analyze(packets);
      expect(result.network.marked).toBeGreaterThan(20);
      expect(analysis.capture.opcodes['CNP']).toBeGreaterThan(10);
      expect(alarms(analysis)).toEqual([]);
    });
  }

  it('with losses and go-back-N raises no alarm of these symptoms', () => {
    const { packets } = captured({
      topology: star(3),
      congestion: PAPER,
      switches: { ecn: ECN },
      flows: incast(2, 200_000),
      loss: 0.002,
    });
    const ids = new Set(alarms(analyze(packets)).map(({ id }) => id));
    ids.delete('sequence-error');
    ids.delete('retry-exceeded');
    expect([...ids]).toEqual([]);
  });

  it('in which everybody reads from everybody is not stalled', () => {
    const flows = [0, 1, 2].flatMap((src) =>
      [0, 1, 2]
        .filter((dst) => dst !== src)
        .map((dst) => ({ src, dst, bytes: 100_000, startNs: 0, operation: 'read' as const })),
    );
    const { packets } = captured({ topology: star(3), congestion: PAPER, switches: { ecn: ECN }, flows });
    expect(alarms(analyze(packets))).toEqual([]);
  });

  it('that only pauses hold back for long is told of, and the port named', () => {
    const { result, packets } = captured({
      topology: buildTopology({ kind: 'star', hosts: 5, link: { rateBps: 1e9, delayNs: 1_000 } }),
      switches: { flowControl: 'pfc', bufferBytes: 1 << 19 },
      flows: incast(4, 400_000),
    });
    expect(result.network.pausesSent).toBeGreaterThan(40);
    expect(result.endNs).toBeGreaterThan(10e6);
    const found = alarms(analyze(packets));
    expect([...new Set(found.map(({ id }) => id))]).toEqual(['pfc-storm']);
    expect(found[0]?.evidence).toMatchObject({ priority: 3, host: '' });
  });
});

describe('sound scenes', () => {
  const SOUND = [
    'mtu-mismatch-same',
    'ecn-works',
    'ecn-works-hard',
    'pfc-occasional',
    'dscp-cm-apart',
    'dscp-unusual',
    'refused-then-accepted',
    'read-bandwidth-bound',
    'read-in-batches',
    'own-ports',
  ];

  it.each(SOUND)('raise no alarm whatever part of them is there: %s', async (name) => {
    const packets = packetsOf(await sceneNamed(name).make());
    const random = new Prng(name.length);
    const renumbered = (kept: typeof packets) => kept.map((packet, index) => ({ ...packet, number: index + 1 }));
    for (let round = 0; round < 6; round++) {
      const from = random.below(packets.length);
      const to = from + 1 + random.below(packets.length - from);
      expect([from, to, alarms(analyze(renumbered(packets.slice(from, to))))]).toEqual([from, to, []]);
    }
    for (const loss of [0.01, 0.1, 0.3]) {
      const kept = renumbered(packets.filter(() => !random.chance(loss)));
      expect([loss, alarms(analyze(kept))]).toEqual([loss, []]);
    }
  });
});
