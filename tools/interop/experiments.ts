/**
 * From cells to experiments: hosts, a wire, and for each cell a case with the guest in one role, or with guests in
 * both. The objects are checked by the schema of experiments, as if they had been read from files.
 */
import { defined, invariant } from 'rocev2/packets';
import { SLOW_HOST_WARNINGS } from '../experiment/findings.ts';
import { parseExperiment } from '../experiment/schema.ts';
import type { CaseExpectation, CaseSpec, CommandStep, Experiment, HostSpec } from '../experiment/types.ts';
import type { KernelLabel } from '../lab/recipe.ts';
import {
  type CellCommand,
  type CellSide,
  type GuestRole,
  INTERFACE_MTUS,
  type InteropCell,
  type IpFamily,
  type PathMtu,
} from './cell.ts';

/** One place of the matrix but for its kernel: a cell, with the guest in a role. */
export interface MatrixEntry {
  readonly cell: InteropCell;
  readonly role: GuestRole;
}

/** Name of the case that an entry is; also of its folder. */
export function caseName({ cell, role }: MatrixEntry): string {
  return `${cell.name}-${role}`;
}

/** The experiment of entries with one interface MTU, between our stack and a guest. */
export function matrixExperiment(kernel: KernelLabel, mtu: PathMtu, entries: readonly MatrixEntry[]): Experiment {
  const guest: HostSpec = { kind: 'guest', kernel, addresses: addressesOf(GUEST_HOST, mtu), mtu: INTERFACE_MTUS[mtu] };
  const ours: HostSpec = { kind: 'stack', addresses: addressesOf(OUR_HOST, mtu), mtu: INTERFACE_MTUS[mtu] };
  return checked({
    name: `interop-${kernel}-mtu${mtu}`,
    title: `The interop matrix: Linux ${kernel}, path MTU up to ${mtu}`,
    about:
      'Unmodified programs of a Linux guest, whose RDMA is rdma_rxe, and ours speak to each other. The name of a case ends with the role of the guest.',
    parameters: {},
    hosts: { ours, guest },
    wires: [{ name: 'wire', between: ['ours', 'guest'] }],
    cases: entries.map((entry) => matrixCase(entry)),
  });
}

/** The same cells between two guests: what they cannot do is not ours. */
export function pairExperiment(kernel: KernelLabel, mtu: PathMtu, cells: readonly InteropCell[]): Experiment {
  const guest = (host: number): HostSpec => ({
    kind: 'guest',
    kernel,
    addresses: addressesOf(host, mtu),
    mtu: INTERFACE_MTUS[mtu],
  });
  return checked({
    name: `pairs-${kernel}-mtu${mtu}`,
    title: `Between two guests: Linux ${kernel}, path MTU up to ${mtu}`,
    about:
      'What failed between a guest and our stack, with unmodified programs on both sides: a case that fails here as well shows a limit of theirs.',
    parameters: {},
    hosts: { server: guest(GUEST_HOST), client: guest(OUR_HOST) },
    wires: [{ name: 'wire', between: ['server', 'client'] }],
    cases: cells.map((cell) => {
      const ends = { server: GUEST_HOST, client: OUR_HOST };
      const parties = {
        server: cell.server(sideOf(cell, 'stock', ends)),
        client: cell.client(sideOf(cell, 'stock', ends)),
      };
      return caseOf(cell, cell.name, { server: 'server', client: 'client' }, parties);
    }),
  });
}

function matrixCase(entry: MatrixEntry): CaseSpec {
  const { cell, role } = entry;
  const guestServes = role === 'server';
  const ends = guestServes ? { server: GUEST_HOST, client: OUR_HOST } : { server: OUR_HOST, client: GUEST_HOST };
  const parties = {
    server: cell.server(sideOf(cell, guestServes ? 'stock' : 'ours', ends)),
    client: cell.client(sideOf(cell, guestServes ? 'ours' : 'stock', ends)),
  };
  const hosts = guestServes ? { server: 'guest', client: 'ours' } : { server: 'ours', client: 'guest' };
  return caseOf(cell, caseName(entry), hosts, parties);
}

function caseOf(
  cell: InteropCell,
  name: string,
  hosts: Readonly<Record<GuestRole, string>>,
  { server, client }: Readonly<Record<GuestRole, CellCommand>>,
): CaseSpec {
  const at = hosts.server === 'ours' ? hosts.client : hosts.server;
  const served: CommandStep = { ...stepOf('server', hosts.server, server), background: true };
  const waiting: CommandStep[] =
    server.readyWhen === undefined
      ? []
      : [{ name: 'ready', host: hosts.server, command: server.readyWhen, timeoutSeconds: LIMIT_SECONDS }];
  const { arrived } = cell;
  const looking: CommandStep[] =
    arrived === undefined || hosts.server === 'ours'
      ? []
      : [{ name: 'arrived', host: hosts.server, command: arrived.command, timeoutSeconds: LIMIT_SECONDS }];
  const expect: CaseExpectation[] = [
    ...printsOf('server', server),
    ...printsOf('client', client),
    ...looking.map(({ name: run = '' }) => ({ run, prints: arrived?.prints() ?? '' })),
    ...(cell.wire ?? []).map((check) => ({ wire: 'wire', at, ...check })),
    { wire: 'wire', at, sound: true },
    { wire: 'wire', findings: [], tolerated: SLOW_HOST_WARNINGS },
  ];
  return { name, run: [served, ...waiting, stepOf('client', hosts.client, client), ...looking], expect };
}

function stepOf(name: GuestRole, host: string, { command, ready, exit, excuse }: CellCommand): CommandStep {
  return {
    name,
    host,
    command,
    timeoutSeconds: LIMIT_SECONDS,
    ...defined({ ready, exit, excuse }),
  };
}

function printsOf(run: GuestRole, { prints = [] }: CellCommand): CaseExpectation[] {
  return prints.map((printed) =>
    typeof printed === 'string' ? { run, prints: printed } : { run, prints: printed.pattern, count: printed.count },
  );
}

function sideOf({ ip }: InteropCell, kind: CellSide['kind'], ends: Readonly<Record<GuestRole, number>>): CellSide {
  return {
    kind,
    server: addressOf(ends.server, ip),
    client: addressOf(ends.client, ip),
    meeting: addressOf(ends.server, 'IPv4'),
    // A guest's first GID is link-local; ours are its addresses.
    gid: (ip === 'IPv4' ? 0 : 1) + (kind === 'stock' ? 1 : 0),
  };
}

function addressesOf(host: number, mtu: PathMtu): string[] {
  const addresses = [`${addressOf(host, 'IPv4')}/24`];
  return INTERFACE_MTUS[mtu] < IPV6_MTU_MIN ? addresses : [...addresses, `${addressOf(host, 'IPv6')}/64`];
}

function addressOf(host: number, ip: IpFamily): string {
  return ip === 'IPv4' ? `10.77.0.${host}` : `fd77::${host}`;
}

function checked(experiment: Experiment): Experiment {
  const parsed = parseExperiment(experiment);
  const issues = 'issues' in parsed ? parsed.issues.map(({ path, message }) => `${path}: ${message}`).join('\n') : '';
  invariant('experiment' in parsed, `a cell makes no experiment: ${issues}`);
  return parsed.experiment;
}

const OUR_HOST = 1;
const GUEST_HOST = 2;
const IPV6_MTU_MIN = 1280;
/** A case takes a second or two; an emulated processor on a busy machine many. */
const LIMIT_SECONDS = 40;
