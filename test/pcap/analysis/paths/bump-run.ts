/**
 * A run of two devices with a bump between them in virtual time, every kind of fault by chance and by rule, all drawn
 * from the seed; and what was done, as the bump's account has it and as the analyzer finds it in the capture, from
 * which the bump's comments are taken away.
 */
import { describe, expect, it } from 'vitest';
import { PathComparer } from '../../../../pcap/analysis/paths/path-compare.ts';
import type { PathEvent } from '../../../../pcap/analysis/types.ts';
import { Dissection, dissect, icrcState } from '../../../../pcap/dissection.ts';
import { readCapture } from '../../../../pcap/reader.ts';
import { nanosecondsSince } from '../../../../pcap/types.ts';
import type { WireFaults, WireRule } from '../../../../src/faults/rule.ts';
import { attachDevice, World, WrOpcode } from '../../../../src/index.ts';
import { Prng } from '../../../../src/sim/index.ts';
import type { EventAccount } from '../../../../tools/bump/account.ts';
import { makeSide, PORT } from '../../../device/support.ts';
import { BumpWire } from '../../../support/bump-wire.ts';

const WAY_NS = 2_000;

function faultsOf(random: Prng): { faults: WireFaults; rules: WireRule[] } {
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

async function run(seed: number): Promise<BumpWire> {
  const wire = new BumpWire({ seed, ...faultsOf(new Prng(seed)) });
  const world = new World({ seed, network: wire });
  const path = { trafficClass: (26 << 2) | 2 };
  const [a, b] = [1, 2].map((n) => attachDevice(world, `device ${n}`, { addresses: [`10.0.0.${n}/24`], path }));
  if (a === undefined || b === undefined) throw new TypeError('two devices were attached');
  const [left, right] = [makeSide(a), makeSide(b)];
  const listener = b.cm.listen(PORT);
  void listener.next().then(({ value }) => value?.accept({ qp: right.qp }));
  const connecting = a.cm.connect({
    address: '10.0.0.2',
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

/** What the analyzer finds. */
function found(capture: Uint8Array): PathEvent[] {
  const comparer = new PathComparer();
  const dissection = new Dissection();
  for (const packet of readCapture(capture)) {
    const bare = { ...packet, comments: [] };
    dissect(bare, dissection);
    const timeNs = nanosecondsSince({ seconds: 0, nanoseconds: 0 }, packet);
    comparer.packet({ packet: bare, timeNs, dissection, icrc: icrcState(dissection) });
  }
  return comparer.finish().flatMap(({ events }) => events);
}

/**
 * The account names intentions, the capture shows effects: what was dropped was nothing else; the copy of a frame that
 * is held back goes ahead of it; a flipped bit that no ICRC covers is a rewritten field.
 */
function fromAccount({ in: number = 0, out = [], action }: EventAccount, copyDelayNs: number): string {
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

function fromAnalysis({ in: number, out, effects }: PathEvent): string {
  const words = effects.map((effect) => (effect === 'corrupted' || effect === 'rewritten' ? 'changed' : effect));
  return told(number, out, [...new Set(words)]);
}

/** One deed as both sides tell it. */
function told(number: number, out: readonly number[], effects: readonly string[]): string {
  return `frame ${String(number).padStart(6)} > ${out.join(' ')}: ${[...effects].sort().join(' ')}`;
}

/** What was done to frames, a line each, by the account of the bump and by the analysis of its capture. */
async function accountAndFindings(seed: number): Promise<{ readonly account: string[]; readonly findings: string[] }> {
  const wire = await run(seed);
  const { faults } = faultsOf(new Prng(seed));
  return {
    account: wire.events
      .map((event) => fromAccount(event, faults[event.direction === 'a-to-b' ? 'aToB' : 'bToA']?.duplicateDelayNs ?? 0))
      .toSorted(),
    findings: found(wire.capture()).map(fromAnalysis).toSorted(),
  };
}

/** Tests of so many batches of 25 runs, seeds from 1 on. */
export function describeRuns(batches: number): void {
  describe('what a bump did, found in its capture', () => {
    it.each(Array.from({ length: batches }, (_, i) => i))(
      'equals its account in each of the 25 runs of batch %i',
      async (batch) => {
        let events = 0;
        for (let seed = 25 * batch + 1; seed <= 25 * (batch + 1); seed++) {
          const { account, findings } = await accountAndFindings(seed);
          expect({ seed, findings }).toEqual({ seed, findings: account });
          events += account.length;
        }
        expect(events).toBeGreaterThan(100);
      },
    );
  });
}
