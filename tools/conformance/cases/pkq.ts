/**
 * Area PKQ: P_Key. A P_Key that does not match makes a packet vanish.
 * Sources: ref:conformance#PKQ. Which P_Keys the port has, the host control say; the default one is taken for granted
 * without them.
 */
import { pattern } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand, NotApplicable } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { GsiPeer } from './gsi.ts';
import { type MakePacket, RequestSequence, versionsOf } from './line.ts';

export const PKQ_CASES: readonly Case[] = [
  { rules: ['PKQ-01'], run: tableOfQp1 },
  { rules: ['PKQ-02'], needs: ['host-control'], run: ownEntry },
  { rules: ['PKQ-03'], run: silentAndCounted },
  { rules: ['PKQ-04'], run: defaultKey },
  { rules: ['PKQ-05'], run: membership },
  { rules: ['PKQ-06'], run: noPartition },
];

async function tableOfQp1(t: Tester): Promise<void> {
  const table = t.dut.hostControl === undefined ? [DEFAULT] : (await t.hostControl.call('port.query', {})).pkeys;
  const keys = table.filter((pkey) => (pkey & MEMBERS) !== 0);
  for (const version of versionsOf(t)) {
    await GsiPeer.with(
      t,
      async (gsi) => {
        for (const pkey of keys) await gsi.answers(gsi.ask({ pkey }), `a MAD with P_Key 0x${pkey.toString(16)}`);
        const foreign = FOREIGN.filter((pkey) => keys.every((key) => ((key ^ pkey) & MEMBERS) !== 0));
        await gsi.ignores(foreign.map((pkey) => ({ pkey })));
      },
      version,
    );
  }
}

async function ownEntry(t: Tester): Promise<void> {
  const { pkeys } = await t.hostControl.call('port.query', {});
  const own = pkeys[0] ?? DEFAULT;
  const other = pkeys.find((pkey) => ((pkey ^ own) & MEMBERS) !== 0 && (pkey & MEMBERS) !== 0);
  if (other === undefined) throw new NotApplicable('the table of the port has one P_Key');
  const line = await RequestSequence.open(t);
  await line.ignores([(psn) => ({ ...line.write(pattern(8))(psn), pkey: other })]);
  await line.accepts(line.write(pattern(8), { pkey: own }));
}

async function silentAndCounted(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t);
  const before = await badKeys(t);
  const whole = line.write(pattern(8));
  await line.ignores(
    FOREIGN.map(
      (pkey): MakePacket =>
        (psn) => ({ ...whole(psn), pkey }),
    ),
  );
  await line.accepts(whole);
  const after = await badKeys(t);
  if (before === undefined || after === undefined) t.note('the device has no counter of bad P_Keys');
  else
    demand(
      after - before === FOREIGN.length,
      `${FOREIGN.length} bad P_Keys, and the counter rose by ${after - before}`,
    );
}

/** The counter of bad P_Keys, where there is one. */
async function badKeys(t: Tester): Promise<number | undefined> {
  if (t.dut.hostControl === undefined) return undefined;
  const { counters } = await t.hostControl.call('counters', {});
  return Object.entries(counters).find(([name]) => /bad.*pkey|pkey.*(err|viol|bad)/i.test(name))?.[1];
}

async function defaultKey(t: Tester): Promise<void> {
  if (t.dut.hostControl !== undefined) {
    const { pkeys } = await t.hostControl.call('port.query', {});
    demand(pkeys.includes(DEFAULT), 'the table of the port lacks the default P_Key');
  }
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version });
    await line.accepts(line.write(pattern(8), { pkey: DEFAULT }));
    await line.ignores([(psn) => ({ ...line.write(pattern(8))(psn), pkey: 0xff_fe })]);
  }
}

async function membership(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t);
  await line.accepts(line.write(pattern(8), { pkey: DEFAULT & MEMBERS }));
}

async function noPartition(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t);
  const whole = line.write(pattern(8));
  await line.ignores(
    [0, 0x80_00].map(
      (pkey): MakePacket =>
        (psn) => ({ ...whole(psn), pkey }),
    ),
  );
  await line.accepts(whole);
}

const DEFAULT = 0xff_ff;
/** Bits of the partition; the one above tells full members from limited ones. */
const MEMBERS = 0x7f_ff;
const FOREIGN: readonly number[] = [0x12_34, 0x92_34, 0xff_fe];
