/**
 * Long tests that CI runs by turns: each takes minutes, and together they are longer than a landing may take. A person
 * and `npm run test:long` run them all; `.ci/run` sets ROCE_TURN and names what it leaves to the other turns.
 */

/** Files by turn, their paths from the root of the repository; the turns take about as long as each other. */
export const TURNS: readonly (readonly string[])[] = [
  [
    'test/tools/conformance/page/page.long.test.ts',
    'test/tools/nvme/crash.long.test.ts',
    'test/tools/conformance/findings/findings.long.test.ts',
    'test/tools/swarm/swarm.long.test.ts',
    'test/interop/matrix-6.1.long.test.ts',
    'test/interop/nvme-auth.long.test.ts',
    'test/interop/nvme-wire-others.long.test.ts',
    'test/tools/verify/verify.long.test.ts',
  ],
  [
    'test/fuzz/uverbs.long.test.ts',
    'test/tools/uverbs-programs.long.test.ts',
    'test/tools/uverbs-image.long.test.ts',
    'test/interop/nvme.long.test.ts',
    'test/interop/nvme-host.long.test.ts',
    'test/interop/experiments.long.test.ts',
  ],
  [
    'test/tools/conformance/duts/limited.long.test.ts',
    'test/interop/nvme-fio.long.test.ts',
    'test/tools/sim/scenarios.long.test.ts',
    'test/tools/cases/slurm.long.test.ts',
    'test/tools/explorer/playground/lesson-page.long.test.ts',
    'test/tools/explorer/large-file.long.test.ts',
    'test/tools/conformance/lumina/lumina.long.test.ts',
    'test/sim/fluid/delay-equations.long.test.ts',
  ],
  [
    'test/tools/conformance/mutants/mutants.long.test.ts',
    'test/sim/simulation/truth.long.test.ts',
    'test/tools/uverbs-guests.long.test.ts',
    'test/tools/conformance/properties/properties.long.test.ts',
    'test/tools/conformance/properties/properties-live.long.test.ts',
    'test/interop/nvme-wire.long.test.ts',
    'test/interop/pyverbs.long.test.ts',
    'test/node/uverbs/killed.long.test.ts',
  ],
  [
    'test/ulp/nvme/fuzz/target.long.test.ts',
    'test/ulp/nvme/fuzz/host.long.test.ts',
    'test/tools/uverbs-two-hosts.long.test.ts',
    'test/fuzz/fuzz.long.test.ts',
    'test/interop/matrix-6.12.long.test.ts',
    'test/tools/truth/guests.long.test.ts',
    'test/tools/uverbs-containers.long.test.ts',
    'test/interop/nvme-cases.long.test.ts',
    'test/tools/link-bench.long.test.ts',
  ],
];

/**
 * The files that a run leaves to other turns; `turn` is any whole number, undefined or empty for a run of everything.
 * Throws an Error for another text.
 */
export function leftToOtherTurns(turn: string | undefined): readonly string[] {
  if (turn === undefined || turn === '') return [];
  if (!/^\d+$/.test(turn)) throw new Error(`ROCE_TURN is a whole number, not ${turn}`);
  const own = Number(turn) % TURNS.length;
  return TURNS.flatMap((files, index) => (index === own ? [] : files));
}
