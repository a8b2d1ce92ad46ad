/**
 * Conditions on a session, as plain data: what a lesson waits for and what it promises. Owns the vocabulary and its
 * checks; changes nothing.
 */
import { CheckedFields, oneOf, ScenarioError, whole } from './fields.ts';
import type { NoteKind } from './notes.ts';
import type { PacketSummary } from './packet-view.ts';
import { LIMITS } from './scenario.ts';
import type { PlaygroundSession } from './session.ts';
import type { HostSnapshot } from './snapshot.ts';

/** How often something is to be seen; neither: at least once. */
interface Often {
  readonly times?: number;
  readonly atLeast?: number;
}

/** Packets so far. Hosts by their letters. */
export interface PacketCondition extends Often {
  readonly see: 'packet';
  readonly from?: string;
  readonly to?: string;
  readonly kind?: PacketSummary['kind'];
  /** A part of the name of the opcode: "WRITE First". */
  readonly name?: string;
  readonly psn?: number;
  readonly state?: PacketSummary['state'];
  /** Sent for another time. */
  readonly again?: boolean;
  /** A part of the detail: "PSN sequence error". */
  readonly detail?: string;
  readonly marked?: boolean;
}

/** Decisions so far. */
export interface NoteCondition extends Often {
  readonly see: 'note';
  readonly host?: string;
  readonly kind: NoteKind;
}

/** Completions so far. */
export interface CompletionCondition extends Often {
  readonly see: 'completion';
  readonly host: string;
  /** Words of the status: "success". */
  readonly status: string;
}

/** A number or word of a host, as it is now. */
export interface ValueCondition {
  readonly see: 'value';
  readonly of: string;
  /**
   * Way through `QpSnapshot` of the host's first queue pair, or `counters.NAME`, `queuedBytes`,
   * `sent`, `paused`, `switchPaused`.
   */
  readonly path: string;
  readonly is?: number | string | boolean;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** Bytes of a host's memory, as they are now. */
export interface MemoryCondition {
  readonly see: 'memory';
  readonly of: string;
  readonly region: string;
  readonly at: number;
  /** As ASCII; or as numbers. */
  readonly text?: string;
  readonly bytes?: readonly number[];
}

/** Nothing more happens. */
export interface EndCondition {
  readonly see: 'end';
}

/** One of them. */
export type Condition =
  | PacketCondition
  | NoteCondition
  | CompletionCondition
  | ValueCondition
  | MemoryCondition
  | EndCondition;

/** Whether it holds now. */
export function holds(condition: Condition, session: PlaygroundSession): boolean {
  switch (condition.see) {
    case 'packet':
      return often(condition, session.packets().filter((packet) => isPacket(condition, packet)).length);
    case 'note':
      return often(condition, countNotes(condition, session));
    case 'completion':
      return often(
        condition,
        hostOf(condition.host, session)?.completions.filter(({ statusName }) => statusName === condition.status)
          .length ?? 0,
      );
    case 'value':
      return isValue(condition, figureOf(hostOf(condition.of, session), condition.path));
    case 'memory':
      return isMemory(condition, hostOf(condition.of, session));
    default:
      return session.over;
  }
}

/** The condition in words, for the message that it does not hold. */
export function describeCondition(condition: Condition): string {
  const { see, ...rest } = condition;
  return `${see} ${JSON.stringify(rest)}`;
}

/** A condition from any value. @throws ScenarioError */
export function parseCondition(value: unknown, path: string): Condition {
  const fields = new CheckedFields(value, path, ALL_FIELDS);
  const see = fields.oneOf('see', SEES);
  const wrong = fields.names.find((name) => name !== 'see' && !FIELDS_OF[see].includes(name));
  if (wrong !== undefined) throw new ScenarioError(`${path}: '${see}' has no ${wrong}`);
  for (const name of fields.names) CHECKS[name]?.(fields.get(name), `${path}.${name}`);
  for (const name of REQUIRED[see]) if (!fields.has(name)) throw new ScenarioError(`${path}: '${see}' needs ${name}`);
  // Every field was checked for its kind above, one by one; the compiler cannot follow a table.
  return value as Condition;
}

function often({ times, atLeast }: Often, count: number): boolean {
  return times === undefined ? count >= (atLeast ?? 1) : count === times;
}

function countNotes({ host, kind }: NoteCondition, { steps }: PlaygroundSession): number {
  const wanted = host === undefined ? undefined : hostIndex(host);
  let count = 0;
  for (const { notes } of steps)
    for (const note of notes) if (note.kind === kind && (wanted === undefined || note.host === wanted)) count++;
  return count;
}

function isPacket(wanted: PacketCondition, packet: PacketSummary): boolean {
  const { from, to, kind, name, psn, state, again, detail, marked } = wanted;
  return (
    (from === undefined || packet.from === hostIndex(from)) &&
    (to === undefined || packet.to === hostIndex(to)) &&
    (kind === undefined || packet.kind === kind) &&
    (name === undefined || packet.name.includes(name)) &&
    (psn === undefined || packet.psn === psn) &&
    (state === undefined || packet.state === state) &&
    (again === undefined || packet.again === again) &&
    (detail === undefined || packet.detail.includes(detail)) &&
    (marked === undefined || packet.marked === marked)
  );
}

function isValue({ is, atLeast, atMost }: ValueCondition, value: unknown): boolean {
  if (is !== undefined) return value === is;
  if (typeof value !== 'number') return false;
  return value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity);
}

/** Only what an object has itself: a path from outside leads nowhere else. */
function figureOf(host: HostSnapshot | undefined, path: string): unknown {
  let value: unknown = host === undefined ? undefined : { ...host.queuePairs[0], ...pickHost(host) };
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) {
      // Counters that are 0 are not listed.
      return path.startsWith('counters.') ? 0 : undefined;
    }
    value = Reflect.get(value, name);
  }
  return value;
}

function pickHost({ counters, queuedBytes, sent, paused, switchPaused }: HostSnapshot) {
  return { counters, queuedBytes, sent, paused, switchPaused };
}

function isMemory({ region, at, text, bytes }: MemoryCondition, host: HostSnapshot | undefined): boolean {
  const memory = host?.memory.find(({ name }) => name === region);
  const wanted = bytes ?? Array.from(text ?? '', (character) => character.charCodeAt(0));
  return memory !== undefined && wanted.every((byte, index) => memory.bytes[at + index] === byte);
}

function hostOf(name: string, session: PlaygroundSession): HostSnapshot | undefined {
  return session.snapshot().hosts[hostIndex(name)];
}

function hostIndex(name: string): number {
  return name.charCodeAt(0) - 0x41;
}

type Check = (value: unknown, path: string) => unknown;

const text: Check = (value, path) => {
  if (typeof value !== 'string' || value.length > 200) throw new ScenarioError(`${path} is a text`);
};
const host: Check = (value, path) => oneOf(value, path, ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H']);
const count: Check = (value, path) => whole(value, path, 0, LIMITS.steps);
const flag: Check = (value, path) => {
  if (typeof value !== 'boolean') throw new ScenarioError(`${path} is true or false`);
};
const figure: Check = (value, path) => {
  if (typeof value !== 'number') throw new ScenarioError(`${path} is a number`);
};
const byteList: Check = (value, path) => {
  if (!Array.isArray(value) || value.length > 64) throw new ScenarioError(`${path} is a list of bytes`);
  for (const byte of value) whole(byte, path, 0, 255);
};

const CHECKS: Readonly<Record<string, Check>> = {
  ...{
    from: host,
    to: host,
    host,
    of: host,
    kind: text,
    name: text,
    state: text,
    detail: text,
    status: text,
    path: text,
  },
  ...{
    region: text,
    text,
    psn: count24,
    at: count,
    times: count,
    atLeast: figure,
    atMost: figure,
    again: flag,
    marked: flag,
  },
  bytes: byteList,
};

function count24(value: unknown, path: string): void {
  whole(value, path, -1, 0xff_ff_ff);
}

const SEES = ['packet', 'note', 'completion', 'value', 'memory', 'end'] as const;
const FIELDS_OF: Readonly<Record<Condition['see'], readonly string[]>> = {
  packet: ['from', 'to', 'kind', 'name', 'psn', 'state', 'again', 'detail', 'marked', 'times', 'atLeast'],
  note: ['host', 'kind', 'times', 'atLeast'],
  completion: ['host', 'status', 'times', 'atLeast'],
  value: ['of', 'path', 'is', 'atLeast', 'atMost'],
  memory: ['of', 'region', 'at', 'text', 'bytes'],
  end: [],
};
const REQUIRED: Readonly<Record<Condition['see'], readonly string[]>> = {
  ...{ packet: [], note: ['kind'], completion: ['host', 'status'], value: ['of', 'path'] },
  ...{ memory: ['of', 'region', 'at'], end: [] },
};
const ALL_FIELDS = ['see', ...new Set(Object.values(FIELDS_OF).flat())];
