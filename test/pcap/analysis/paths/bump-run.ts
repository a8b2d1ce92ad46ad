/**
 * A run of two devices with a bump between them in virtual time, every kind of fault by chance and by rule, all drawn
 * from the seed; and what was done, as the bump's account has it and as the analyzer finds it in the capture, from
 * which the bump's comments are taken away.
 */
import { describe, expect, it } from 'vitest';
import { PathComparer } from '../../../../pcap/analysis/paths/path-compare.ts';
import type { CaptureLimit, PathEvent, PathReport } from '../../../../pcap/analysis/types.ts';
import { Dissection, dissect, icrcState } from '../../../../pcap/dissection.ts';
import { readCapture } from '../../../../pcap/reader.ts';
import { type CapturedPacket, nanosecondsSince } from '../../../../pcap/types.ts';
import type { WireFaults, WireRule } from '../../../../src/faults/rule.ts';
import { attachDevice, World, WrOpcode } from '../../../../src/index.ts';
import { Prng } from '../../../../src/sim/index.ts';
import type { EventAccount } from '../../../../tools/bump/account.ts';
import { makeSide, PORT } from '../../../device/support.ts';
import { BumpWire } from '../../../support/bump-wire.ts';

const WAY_NS = 2_000;

/** A run, and what is on its wire. */
export interface RunOptions {
  readonly seed: number;
  /** Default 4. */
  readonly ipVersion?: 4 | 6;
  /** Default: all kinds of faults by chance and by rule. */
  readonly faults?: WireFaults;
  readonly rules?: readonly WireRule[];
}

export function faultsOf(random: Prng): { faults: WireFaults; rules: WireRule[] } {
  const often = (): number => (random.below(3) === 0 ? random.below(60) / 1000 : 0);
  const spec = () => ({
    delayNs: WAY_NS,
    loss: often(),
    duplicate: often(),
    duplicateDelayNs: random.below(2) * 50_000,
    reorder: often(),
    reorderDelayNs: 20_000 + random.below(50_000),
    corrupt: often(),
    ceMark: often(),
  });
  const actions: readonly Omit<WireRule, 'on'>[] = [
    { do: 'drop' },
    { do: 'duplicate', copies: 1 + random.below(3) },
    { do: 'delay', delayNs: 30_000 + random.below(200_000) },
    { do: 'reorder', behind: 1 + random.below(4) },
    { do: 'corrupt' },
    { do: 'mark-ce' },
    { do: 'rewrite', set: { 'bth.psn': random.below(1 << 24) } },
  ];
  const opcodes = ['write', 'read-response', 'ack', 'send', 'roce'] as const;
  const rules = actions
    .filter(() => random.below(3) === 0)
    .map((action) => ({
      ...action,
      on: { opcode: opcodes[random.below(opcodes.length)] ?? 'roce', nth: 1 + random.below(12) },
    }));
  return { faults: { aToB: spec(), bToA: spec() }, rules };
}

export async function run({ seed, ipVersion = 4, ...given }: RunOptions): Promise<BumpWire> {
  const wire = new BumpWire({ seed, ...(given.faults === undefined ? faultsOf(new Prng(seed)) : given) });
  const world = new World({ seed, network: wire });
  const path = { trafficClass: (26 << 2) | 2 };
  const prefix = ipVersion === 4 ? '10.0.0.' : 'fd00::';
  const [a, b] = [1, 2].map((n) =>
    attachDevice(world, `device ${n}`, { addresses: [`${prefix}${n}/${ipVersion === 4 ? 24 : 64}`], path }),
  );
  if (a === undefined || b === undefined) throw new TypeError('two devices were attached');
  const [left, right] = [makeSide(a), makeSide(b)];
  const listener = b.cm.listen(PORT);
  void listener.next().then(({ value }) => value?.accept({ qp: right.qp }));
  const connecting = a.cm.connect({
    address: `${prefix}2`,
    port: PORT,
    qp: left.qp,
    ackTimeout: 8,
    cmResponseTimeout: 10,
  });
  const connected = await world.run(
    connecting.then(
      () => true,
      () => false,
    ),
  );
  if (!connected) return wire;
  const sges = [{ mr: left.mr, length: 20_000 }];
  const remote = { remoteAddr: right.mr.iova, rkey: right.mr.rkey };
  for (let i = 0; i < 4; i++) right.qp.postRecv({ wrId: i, sges: [{ mr: right.mr }] });
  for (const opcode of [WrOpcode.RdmaWrite, WrOpcode.Send, WrOpcode.RdmaRead, WrOpcode.RdmaWrite])
    left.qp.postSend({ wrId: 1, opcode, sges, ...(opcode === WrOpcode.Send ? {} : remote) });
  // Whether the operations succeed is not the question here: a wire may be too bad for its retries.
  world.runFor(40e6);
  a.close();
  b.close();
  // Longer than a frame may be held for others to overtake it.
  world.runFor(200e6);
  return wire;
}

/** What the analyzer finds in packets. */
export function compared(packets: Iterable<CapturedPacket>): {
  readonly paths: readonly PathReport[];
  readonly limits: readonly CaptureLimit[];
} {
  const comparer = new PathComparer();
  const dissection = new Dissection();
  for (const packet of packets) {
    const bare = { ...packet, comments: [] };
    dissect(bare, dissection);
    const timeNs = nanosecondsSince({ seconds: 0, nanoseconds: 0 }, packet);
    comparer.packet({ packet: bare, timeNs, dissection, icrc: icrcState(dissection) });
  }
  return { paths: comparer.finish(), limits: comparer.limits() };
}

/**
 * The account names intentions, the capture shows effects: what was dropped was nothing else; the copy of a frame that
 * is held back goes ahead of it; a flipped bit that no ICRC covers is a rewritten field.
 */
export function fromAccount({ in: number = 0, out = [], action }: EventAccount, copyDelayNs: number): string {
  const has = (word: string): boolean => action.includes(word);
  if (has('dropped')) return told(number, out, ['dropped']);
  const copyAhead = has('duplicated (') || (has('duplicated') && copyDelayNs === 0);
  const effects = [
    has('duplicated') ? 'duplicated' : '',
    has('delayed') || (has('held back') && !copyAhead) ? 'held' : '',
    has('marked') ? 'marked' : '',
    has('corrupted') || has('rewritten') ? 'changed' : '',
  ];
  return told(
    number,
    out,
    effects.filter((effect) => effect !== ''),
  );
}

export function fromAnalysis({ in: number, out, effects }: PathEvent): string {
  const words = effects.map((effect) => (effect === 'corrupted' || effect === 'rewritten' ? 'changed' : effect));
  return told(number, out, [...new Set(words)]);
}

/** One deed as both sides tell it. */
function told(number: number, out: readonly number[], effects: readonly string[]): string {
  return `frame ${String(number).padStart(6)} > ${out.join(' ')}: ${[...effects].sort().join(' ')}`;
}

/** What the bump says that it did, a line each; of one direction only where it is given. */
export function accountOf(wire: BumpWire, seed: number, only?: 'a-to-b' | 'b-to-a'): string[] {
  const { faults } = faultsOf(new Prng(seed));
  const copyDelayNs = (direction: string): number =>
    faults[direction === 'a-to-b' ? 'aToB' : 'bToA']?.duplicateDelayNs ?? 0;
  const events = wire.events.filter(({ direction }) => only === undefined || direction === only);
  return events.map((event) => fromAccount(event, copyDelayNs(event.direction))).toSorted();
}

/** Tests of so many batches of 25 runs, seeds from 1 on. */
export function describeRuns(batches: number): void {
  describe('what a bump did, found in its capture', () => {
    it.each(Array.from({ length: batches }, (_, i) => i))(
      'equals its account in each of the 25 runs of batch %i',
      async (batch) => {
        let events = 0;
        for (let seed = 25 * batch + 1; seed <= 25 * (batch + 1); seed++) {
          const wire = await run({ seed });
          const account = accountOf(wire, seed);
          const { paths } = compared(readCapture(wire.capture()));
          const findings = paths.flatMap((path) => path.events.map(fromAnalysis)).toSorted();
          expect({ seed, findings }).toEqual({ seed, findings: account });
          events += account.length;
        }
        expect(events).toBeGreaterThan(100);
      },
    );
  });
}
