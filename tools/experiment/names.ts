/**
 * Checks beyond the shape of an experiment: every name it uses must be one it has, and wires and hosts must fit
 * together.
 */
import { DeviceCounters } from 'rocev2';
import { PortCounters } from 'rocev2/transport';
import { FRAME_FATES } from '../bump/account.ts';
import { FINDING_IDS } from './findings.ts';
import type {
  CaseExpectation,
  CaseSpec,
  CommandStep,
  Experiment,
  FindingsExpectation,
  WireConduct,
  WireSpec,
} from './types.ts';

export interface NameIssue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** The name of a command in its case. */
export function runName({ name, host }: CommandStep): string {
  return name ?? host;
}

/** Counters of a device that expectations may name. */
export const COUNTER_NAMES: ReadonlySet<string> = new Set([
  ...Object.keys(new DeviceCounters()),
  ...Object.keys(new PortCounters()),
]);

/** A wire's conduct in a case. */
export function conductOf(wire: WireSpec, spec: CaseSpec): WireConduct {
  const { name: _, between: __, ...conduct } = wire;
  return { ...conduct, ...spec.wires?.[wire.name] };
}

export function checkNames(experiment: Experiment): NameIssue[] {
  const issues: NameIssue[] = [];
  for (const [host, { addresses, mtu = 1500 }] of Object.entries(experiment.hosts)) {
    if (mtu < IPV6_MTU_MIN && addresses.some((address) => address.includes(':')))
      issues.push({ path: ['hosts', host, 'mtu'], message: `IPv6 needs an MTU of ${IPV6_MTU_MIN}` });
  }
  checkWires(experiment, issues);
  checkUnique(
    experiment.cases.map(({ name }) => name),
    ['cases'],
    issues,
  );
  experiment.cases.forEach((spec, index) => {
    new CaseCheck(experiment, spec, ['cases', index], issues).run();
  });
  return issues;
}

function checkWires({ hosts, wires }: Experiment, issues: NameIssue[]): void {
  checkUnique(
    wires.map(({ name }) => name),
    ['wires'],
    issues,
  );
  const ends = wires.flatMap(({ between }) => between);
  wires.forEach(({ between }, wire) => {
    between.forEach((host, end) => {
      const path = ['wires', wire, 'between', end];
      if (!(host in hosts)) issues.push({ path, message: unknown('host', host, Object.keys(hosts)) });
      else if (ends.indexOf(host) !== wires.slice(0, wire).length * 2 + end)
        issues.push({ path, message: `${host} is at the end of another wire already; a host has one interface` });
    });
  });
  for (const host of Object.keys(hosts)) {
    if (!ends.includes(host)) issues.push({ path: ['hosts', host], message: 'No wire leads to this host' });
  }
}

function checkUnique(names: readonly string[], path: readonly string[], issues: NameIssue[]): void {
  names.forEach((name, index) => {
    if (names.indexOf(name) !== index)
      issues.push({ path: [...path, index, 'name'], message: `${name} is the name of another one` });
  });
}

class CaseCheck {
  readonly #experiment: Experiment;
  readonly #case: CaseSpec;
  readonly #path: readonly (string | number)[];
  readonly #issues: NameIssue[];
  readonly #runs: string[] = [];

  constructor(experiment: Experiment, spec: CaseSpec, path: readonly (string | number)[], issues: NameIssue[]) {
    this.#experiment = experiment;
    this.#case = spec;
    this.#path = path;
    this.#issues = issues;
  }

  run(): void {
    for (const wire of Object.keys(this.#case.wires ?? {})) this.#demandWire(['wires', wire], wire);
    this.#case.run.forEach((step, index) => {
      const path = ['run', index];
      if ('end' in step) this.#demandRun([...path, 'end'], step.end);
      else if ('wait' in step) this.#demandRun([...path, 'wait'], step.wait);
      else this.#checkCommand(path, step);
    });
    this.#case.expect.forEach((expectation, index) => {
      this.#checkExpectation(['expect', index], expectation);
    });
  }

  #checkCommand(path: readonly (string | number)[], step: CommandStep): void {
    const { hosts } = this.#experiment;
    const name = runName(step);
    if (!(step.host in hosts)) this.#say([...path, 'host'], unknown('host', step.host, Object.keys(hosts)));
    if (this.#runs.includes(name)) {
      const why = step.name === undefined ? 'a host that runs more than one command names them' : 'each has its own';
      this.#say(path, `Another command of this case is called ${name}; ${why}`);
    }
    this.#runs.push(name);
    if (step.ready !== undefined && step.background !== true)
      this.#say([...path, 'ready'], 'Only a command in the background is waited for this way');
    if (step.ready !== undefined && 'listen' in step.ready && hosts[step.host]?.kind === 'namespace')
      this.#say([...path, 'ready'], 'A namespace does not show listeners for RDMA connections: use "prints"');
  }

  #checkExpectation(path: readonly (string | number)[], expectation: CaseExpectation): void {
    if ('wire' in expectation) {
      this.#demandWire([...path, 'wire'], expectation.wire);
      const wire = this.#experiment.wires.find(({ name }) => name === expectation.wire);
      const at = 'at' in expectation ? expectation.at : undefined;
      if (at !== undefined && wire !== undefined && !wire.between.includes(at))
        this.#say([...path, 'at'], `${at} is at neither end of ${wire.name}`);
      if ('findings' in expectation) this.#checkFindings(path, expectation);
      if ('event' in expectation && wire !== undefined) {
        const rules = conductOf(wire, this.#case).rules ?? [];
        const known = [...rules.map(({ name }, index) => name ?? `rule ${index + 1}`), ...FRAME_FATES];
        if (!known.includes(expectation.event))
          this.#say([...path, 'event'], unknown('rule or deed', expectation.event, known));
      }
    } else if ('run' in expectation) {
      this.#demandRun([...path, 'run'], expectation.run);
    } else if ('rate' in expectation) {
      const spec = this.#experiment.hosts[expectation.host];
      if (spec?.kind !== 'stack' || spec.congestion === undefined)
        this.#say([...path, 'host'], 'Rates are those of a host of kind "stack" with congestion control');
    } else {
      const { host, counter } = expectation;
      if (this.#experiment.hosts[host]?.kind !== 'stack')
        this.#say([...path, 'host'], 'Counters are those of a host of kind "stack"');
      if (!COUNTER_NAMES.has(counter)) this.#say([...path, 'counter'], unknown('counter', counter, COUNTER_NAMES));
    }
  }

  #checkFindings(path: readonly (string | number)[], { findings, tolerated = [] }: FindingsExpectation): void {
    for (const [field, ids] of Object.entries({ findings, tolerated })) {
      ids.forEach((id, index) => {
        if (!FINDING_IDS.has(id)) this.#say([...path, field, index], unknown('finding', id, FINDING_IDS));
      });
    }
  }

  #demandWire(path: readonly (string | number)[], wire: string): void {
    const names = this.#experiment.wires.map(({ name }) => name);
    if (!names.includes(wire)) this.#say(path, unknown('wire', wire, names));
  }

  #demandRun(path: readonly (string | number)[], run: string): void {
    if (!this.#runs.includes(run)) this.#say(path, unknown('command of this case', run, this.#runs));
  }

  #say(path: readonly (string | number)[], message: string): void {
    this.#issues.push({ path: [...this.#path, ...path], message });
  }
}

function unknown(what: string, name: string, known: Iterable<string>): string {
  return `There is no ${what} ${name}; there is ${[...known].join(', ') || 'none'}`;
}

/** RFC 8200. */
const IPV6_MTU_MIN = 1280;
