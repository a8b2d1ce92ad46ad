/**
 * Smaller scenarios that still fail: one axis after the other is set to what is plainest, and stays so if the run
 * fails all the same, until no axis helps any more. Owns the order of axes; what fails is the caller's to say.
 */
import type { Scenario } from './scenario.ts';

/** The smallest that `fails` that greed finds; runs each candidate once. */
export async function shrink(scenario: Scenario, fails: (candidate: Scenario) => Promise<boolean>): Promise<Scenario> {
  let smallest = scenario;
  for (let again = true; again; ) {
    again = false;
    for (const candidate of plainer(smallest)) {
      if (JSON.stringify(candidate) === JSON.stringify(smallest) || !(await fails(candidate))) continue;
      smallest = candidate;
      again = true;
      break;
    }
  }
  return smallest;
}

/** Each of them differs in one axis. */
function plainer(scenario: Scenario): Scenario[] {
  const { attack, services, faults } = scenario;
  const withAttack = (more: Partial<Scenario['attack']>): Scenario => ({ ...scenario, attack: { ...attack, ...more } });
  const fewer = <T>(all: readonly T[]): T[][] =>
    all.length === 1 ? [] : all.map((one) => all.filter((other) => other !== one));
  return [
    ...fewer(services).map((some) => ({ ...scenario, services: some })),
    ...fewer(attack.acts).map((acts) => withAttack({ acts })),
    ...attack.misses.map((one) => withAttack({ misses: attack.misses.filter((other) => other !== one) })),
    ...attack.violations.map((one) => withAttack({ violations: attack.violations.filter((other) => other !== one) })),
    ...(['loss', 'duplicate', 'reorder', 'corrupt'] as const).map((name) => ({
      ...scenario,
      faults: { ...faults, [name]: 0 },
    })),
    { ...scenario, work: Math.max(1, scenario.work >> 1) },
    withAttack({ frames: attack.frames >> 1 }),
    { ...scenario, stream: false },
    { ...scenario, tight: false },
    { ...scenario, dcqcn: false },
    { ...scenario, ipVersion: 4 },
    { ...scenario, mtu: 256 },
    { ...scenario, firstPsn: 0 },
  ];
}
