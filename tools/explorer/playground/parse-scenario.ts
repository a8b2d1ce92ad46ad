/**
 * Scenarios from outside: links, files, forms. Checks every field for its kind and its bounds, and that the fields fit
 * each other. A fault is a `ScenarioError` that names the place; nothing else is ever thrown, whatever the value is.
 */
import { defined } from 'rocev2/packets';
import { MLX_DEFAULTS, makeController, PAPER_DEFAULTS } from 'rocev2/transport';
import { CheckedFields, flag, oneOf, ScenarioError, whole } from './fields.ts';
import {
  ACTIONS,
  ANSWERS,
  bytesOf,
  type CmSpec,
  CONNECTING,
  COUNTER_BYTES,
  type CongestionSpec,
  type ConnectionSpec,
  DEFAULT_CM,
  DEFAULT_CONGESTION,
  DEFAULT_SCENARIO,
  type EcnSpec,
  type HostLinkSpec,
  type Intervention,
  isCounting,
  LIMITS,
  LINK_SHAPES,
  MISTAKES,
  OPERATION_KINDS,
  type PfcSpec,
  type PlaygroundOperation,
  type PlaygroundScenario,
  type QpSpec,
  reachOf,
} from './scenario.ts';

/** A scenario from any value, absent fields filled with defaults. @throws ScenarioError */
export function parseScenario(value: unknown): PlaygroundScenario {
  const fields = new CheckedFields(value, 'scenario', SCENARIO_FIELDS);
  const hosts = fields.whole('hosts', 2, LIMITS.hosts, DEFAULT_SCENARIO.hosts);
  const congestion = fields.has('congestion') ? parseCongestion(fields.get('congestion')) : undefined;
  const cm = fields.has('cm') ? parseCm(fields.get('cm')) : undefined;
  const scenario: PlaygroundScenario = {
    seed: fields.whole('seed', 0, 0xff_ff_ff_ff, DEFAULT_SCENARIO.seed),
    hosts,
    memoryBytes: fields.whole('memoryBytes', 256, LIMITS.memoryBytes, DEFAULT_SCENARIO.memoryBytes),
    link: parseLink(fields.get('link'), hosts),
    qp: parseQp(fields.get('qp')),
    ...defined({ congestion, cm }),
    connections: fields.list('connections', LIMITS.connections, DEFAULT_SCENARIO.connections, (item, path) =>
      parseConnection(item, path, hosts),
    ),
    operations: fields.list('operations', LIMITS.operations, DEFAULT_SCENARIO.operations, parseOperation),
    interventions: fields.list('interventions', LIMITS.interventions, [], (item, path) =>
      parseIntervention(item, path, hosts),
    ),
  };
  checkTogether(scenario);
  return scenario;
}

/** The shortest value from which `parseScenario` makes the same scenario. */
export function compactScenario(scenario: PlaygroundScenario): Record<string, unknown> {
  const { link, qp, congestion, cm, ...rest } = scenario;
  const short = without(rest, DEFAULT_SCENARIO);
  const shortLink = without(link, DEFAULT_SCENARIO.link);
  const shortQp = without(qp, DEFAULT_SCENARIO.qp);
  return {
    ...short,
    ...(Object.keys(shortLink).length === 0 ? {} : { link: shortLink }),
    ...(Object.keys(shortQp).length === 0 ? {} : { qp: shortQp }),
    ...(congestion === undefined ? {} : { congestion: without(congestion, DEFAULT_CONGESTION) }),
    ...(cm === undefined ? {} : { cm: without(cm, DEFAULT_CM) }),
  };
}

/** Why an operation does not fit the memory there is; empty when it does. */
export function memoryError(operation: PlaygroundOperation, memoryBytes: number): string {
  const reach = reachOf(operation);
  if (isCounting(operation) && reach > COUNTER_BYTES) return `reaches beyond the ${COUNTER_BYTES} bytes of counters`;
  return reach > memoryBytes ? `needs ${reach} bytes of memory; memoryBytes is ${memoryBytes}` : '';
}

function parseLink(value: unknown, hosts: number): HostLinkSpec {
  const d = DEFAULT_SCENARIO.link;
  const fields = new CheckedFields(value ?? {}, 'link', LINK_FIELDS);
  const ecn = fields.has('ecn') ? parseEcn(fields.get('ecn')) : undefined;
  const pfc = fields.has('pfc') ? parsePfc(fields.get('pfc')) : undefined;
  return {
    rateBps: fields.whole('rateBps', MIN_RATE_BPS, MAX_RATE_BPS, d.rateBps),
    ratesBps: fields.list('ratesBps', hosts, d.ratesBps, (item, path) =>
      item === 0 ? 0 : whole(item, path, MIN_RATE_BPS, MAX_RATE_BPS),
    ),
    shape: fields.oneOf('shape', LINK_SHAPES, d.shape),
    delayNs: fields.whole('delayNs', 2, 1e9, d.delayNs),
    queueBytes: fields.whole('queueBytes', 8_192, 1 << 24, d.queueBytes),
    loss: fields.chance('loss'),
    corrupt: fields.chance('corrupt'),
    duplicate: fields.chance('duplicate'),
    reorder: fields.chance('reorder'),
    mark: fields.chance('mark'),
    ...defined({ ecn, pfc }),
  };
}

function parseEcn(value: unknown): EcnSpec {
  const fields = new CheckedFields(value, 'link.ecn', ['kminBytes', 'kmaxBytes', 'pmax']);
  const kminBytes = fields.whole('kminBytes', 0, 1 << 24, 5_000);
  const kmaxBytes = fields.whole('kmaxBytes', kminBytes, 1 << 24, Math.max(kminBytes, 50_000));
  return { kminBytes, kmaxBytes, pmax: fields.number('pmax', 0, 1, 0.1) };
}

function parsePfc(value: unknown): PfcSpec {
  const fields = new CheckedFields(value, 'link.pfc', ['xoffBytes', 'xonBytes']);
  const xoffBytes = fields.whole('xoffBytes', 0, 1 << 24, 20_000);
  return { xoffBytes, xonBytes: fields.whole('xonBytes', 0, xoffBytes, Math.floor(xoffBytes / 2)) };
}

function parseQp(value: unknown): QpSpec {
  const d = DEFAULT_SCENARIO.qp;
  const fields = new CheckedFields(value ?? {}, 'qp', Object.keys(d));
  return {
    service: fields.oneOf('service', SERVICES, d.service),
    mtu: fields.oneOf('mtu', MTUS, d.mtu),
    retryCnt: fields.whole('retryCnt', 0, 7, d.retryCnt),
    rnrRetry: fields.whole('rnrRetry', 0, 7, d.rnrRetry),
    timeout: fields.whole('timeout', 0, 31, d.timeout),
    minRnrTimer: fields.whole('minRnrTimer', 0, 31, d.minRnrTimer),
    maxRdAtomic: fields.whole('maxRdAtomic', 1, 128, d.maxRdAtomic),
    maxUnacked: fields.whole('maxUnacked', 1, 4_096, d.maxUnacked),
    firstPsn: fields.whole('firstPsn', 0, 0xff_ff_ff, d.firstPsn),
    peerFirstPsn: fields.whole('peerFirstPsn', 0, 0xff_ff_ff, d.peerFirstPsn),
  };
}

function parseCongestion(value: unknown): CongestionSpec {
  const fields = new CheckedFields(value, 'congestion', Object.keys(DEFAULT_CONGESTION));
  const profile = fields.oneOf('profile', ['paper', 'mlx'], DEFAULT_CONGESTION.profile);
  const known: Readonly<Record<string, unknown>> = { ...(profile === 'paper' ? PAPER_DEFAULTS : MLX_DEFAULTS) };
  const asked = new CheckedFields(fields.get('parameters') ?? {}, 'congestion.parameters', Object.keys(known));
  const parameters: Record<string, number | boolean> = {};
  for (const name of asked.names) {
    const given = asked.get(name);
    if (typeof given !== typeof known[name] || (typeof given !== 'number' && typeof given !== 'boolean'))
      throw new ScenarioError(`congestion.parameters.${name} is a ${typeof known[name]}`);
    parameters[name] = given;
  }
  return {
    profile,
    parameters,
    cnpIntervalNs: fields.whole('cnpIntervalNs', 0, 1e9, DEFAULT_CONGESTION.cnpIntervalNs),
  };
}

function parseCm(value: unknown): CmSpec {
  const fields = new CheckedFields(value, 'cm', Object.keys(DEFAULT_CM));
  return {
    responseTimeout: fields.whole('responseTimeout', 0, 20, DEFAULT_CM.responseTimeout),
    retries: fields.whole('retries', 0, 15, DEFAULT_CM.retries),
  };
}

function parseConnection(value: unknown, path: string, hosts: number): ConnectionSpec {
  const fields = new CheckedFields(value, path, ['from', 'to']);
  const from = fields.whole('from', 0, hosts - 1, 0);
  const to = fields.whole('to', 0, hosts - 1, 1);
  if (from === to) throw new ScenarioError(`${path} joins a host to itself`);
  return { from, to };
}

function parseOperation(value: unknown, path: string): PlaygroundOperation {
  const fields = new CheckedFields(value, path, OPERATION_FIELDS);
  const { messageBytes, memoryBytes, count, connections, steps, timeNs } = LIMITS;
  const operation: PlaygroundOperation = {
    kind: fields.oneOf('kind', OPERATION_KINDS),
    ...fields.optional('connection', (item, at) => whole(item, at, 0, connections - 1)),
    ...fields.optional('side', (item, at) => (whole(item, at, 0, 1) === 0 ? 0 : 1)),
    ...fields.optional('bytes', (item, at) => whole(item, at, 0, messageBytes)),
    ...fields.optional('count', (item, at) => whole(item, at, 1, count)),
    ...fields.optional('offset', (item, at) => whole(item, at, 0, memoryBytes)),
    ...fields.optional('value', (item, at) => whole(item, at, 0, Number.MAX_SAFE_INTEGER)),
    ...fields.optional('swap', (item, at) => whole(item, at, 0, Number.MAX_SAFE_INTEGER)),
    ...fields.optional('receive', flag),
    ...fields.optional('mistake', (item, at) => oneOf(item, at, MISTAKES)),
    ...fields.optional('window', flag),
    ...fields.optional('group', flag),
    ...fields.optional('answer', (item, at) => oneOf(item, at, ANSWERS)),
    ...fields.optional('atNs', (item, at) => whole(item, at, 0, timeNs)),
    ...fields.optional('atStep', (item, at) => whole(item, at, 1, steps)),
  };
  if (operation.atNs !== undefined && operation.atStep !== undefined)
    throw new ScenarioError(`${path} has either atNs or atStep`);
  return operation;
}

function parseIntervention(value: unknown, path: string, hosts: number): Intervention {
  const fields = new CheckedFields(value, path, ['host', 'packet', 'action', 'byNs']);
  return {
    host: fields.whole('host', 0, hosts - 1, 0),
    packet: fields.whole('packet', 1, LIMITS.steps),
    action: fields.oneOf('action', ACTIONS),
    ...fields.optional('byNs', (item, at) => whole(item, at, 0, 1e9)),
  };
}

/** Checks between fields. */
function checkTogether(scenario: PlaygroundScenario): void {
  const { connections, operations, congestion, cm, qp, link, memoryBytes } = scenario;
  if (connections.length === 0) throw new ScenarioError('connections has one connection at least');
  let workRequests = 0;
  for (const [index, operation] of operations.entries()) {
    const path = `operations[${index}]`;
    const { connection = 0, count = 1, kind } = operation;
    if (connection >= connections.length)
      throw new ScenarioError(`${path}.connection: there is no connection ${connection}`);
    const error = memoryError(operation, memoryBytes);
    if (error !== '') throw new ScenarioError(`${path} ${error}`);
    workRequests += count;
    if (!KINDS_OF[qp.service].includes(kind)) throw new ScenarioError(`${path}.kind: ${qp.service} has no ${kind}`);
    if (cm === undefined && CONNECTING.includes(kind))
      throw new ScenarioError(`${path}.kind: ${kind} needs cm; without it all connections stand from the beginning`);
    if (operation.answer !== undefined && kind !== 'connect')
      throw new ScenarioError(`${path}.answer: only a connect is answered`);
    if (link.shape === 'ring' && (operation.group === true || kind === 'join' || kind === 'leave'))
      throw new ScenarioError(`${path}: a ring carries nothing to a group`);
    if (operation.group === true && (qp.service !== 'ud' || !kind.startsWith('send')))
      throw new ScenarioError(`${path}.group: only a datagram goes to a group`);
    if (qp.service === 'ud' && kind !== 'recv' && bytesOf(operation) > MAX_DATAGRAM)
      throw new ScenarioError(`${path}.bytes: a datagram has ${MAX_DATAGRAM} bytes at most`);
  }
  if (workRequests > LIMITS.workRequests)
    throw new ScenarioError(`operations post more than ${LIMITS.workRequests} requests`);
  if (cm !== undefined && qp.service === 'ud') throw new ScenarioError('cm: datagrams have no connection');
  if (congestion !== undefined) checkController(congestion, link);
}

/** The controller itself knows the ranges of its parameters. */
function checkController({ profile, parameters }: CongestionSpec, { rateBps, ratesBps }: HostLinkSpec): void {
  try {
    for (const rate of [rateBps, ...ratesBps.filter((rate) => rate > 0)])
      makeController({ kind: 'dcqcn', profile, parameters }, rate);
  } catch (error) {
    throw new ScenarioError(`congestion: ${error instanceof Error ? error.message : 'invalid parameters'}`);
  }
}

/** The entries of `value` that `defaults` does not have alike. */
function without(value: object, defaults: object): Record<string, unknown> {
  const known = new Map<string, unknown>(Object.entries(defaults));
  return Object.fromEntries(
    Object.entries(value).filter(([name, item]) => JSON.stringify(item) !== JSON.stringify(known.get(name))),
  );
}

const SERVICES = ['rc', 'uc', 'ud'] as const;
const MTUS = [256, 512, 1024, 2048, 4096] as const;
const MIN_RATE_BPS = 1e6;
const MAX_RATE_BPS = 400e9;
const MAX_DATAGRAM = 4_096;
const KINDS_OF = {
  rc: OPERATION_KINDS.filter((kind) => kind !== 'join' && kind !== 'leave'),
  uc: ['send', 'send-imm', 'write', 'write-imm', 'recv', ...CONNECTING],
  ud: ['send', 'send-imm', 'recv', 'join', 'leave'],
} as const satisfies Record<string, readonly string[]> as Readonly<Record<'rc' | 'uc' | 'ud', readonly string[]>>;
const SCENARIO_FIELDS = [...Object.keys(DEFAULT_SCENARIO), 'congestion', 'cm'];
const LINK_FIELDS = [...Object.keys(DEFAULT_SCENARIO.link), 'ecn', 'pfc'];
const OPERATION_FIELDS = [
  ...[
    'kind',
    'connection',
    'side',
    'bytes',
    'count',
    'offset',
    'value',
    'swap',
    'receive',
    'mistake',
    'window',
    'group',
    'answer',
    'atNs',
    'atStep',
  ],
];
