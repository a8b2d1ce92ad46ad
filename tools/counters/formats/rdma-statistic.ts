/** `rdma statistic`, as text and as JSON (`-j`). Owns both forms. Counters of queue pairs (`cntn`) are left out. */
import { plainName } from '../names.ts';
import type { SnapshotBuilder } from '../snapshot.ts';
import type { TextState } from './state.ts';

/** Whether the line is `link DEV/PORT name value name value ...`, or goes on with such pairs. */
export function readRdmaText(line: string, state: TextState): boolean {
  const [, port, rest = ''] = /^\s*(?:\d+:\s*)?link\s+(\S+\/\d+)\s*(.*)$/.exec(line) ?? [];
  if (port !== undefined) {
    state.rdmaPort = /(^|\s)(cntn|qp-type|lqpn)\b/.test(rest) ? '' : port;
    if (state.rdmaPort !== '') readPairs(rest, state.rdmaPort, state.into);
    return true;
  }
  if (state.rdmaPort === '' || !PAIRS.test(line)) return false;
  return readPairs(line, state.rdmaPort, state.into) > 0;
}

/** Names may have blanks (irdma): everything before a number belongs to one. */
function readPairs(text: string, port: string, into: SnapshotBuilder): number {
  let count = 0;
  for (const [, name = '', value = ''] of text.matchAll(/([A-Za-z_][\w .-]*?)\s+(\d{1,20})(?=\s|$)/g)) {
    into.set(port, plainName(name), BigInt(value));
    count += 1;
  }
  return count;
}

/**
 * Reads the array that begins at a line.
 *
 * @returns how many lines it takes, 0 if there is no such array
 */
export function readRdmaJson(lines: readonly string[], from: number, into: SnapshotBuilder): number {
  const end = lines.findIndex((line, at) => at >= from && /\]\s*$/.test(line));
  if (end < 0) return 0;
  const entries = parsed(lines.slice(from, end + 1).join('\n'));
  if (!Array.isArray(entries)) return 0;
  for (const entry of entries) readEntry(entry, into);
  return end + 1 - from;
}

function readEntry(entry: unknown, into: SnapshotBuilder): void {
  if (typeof entry !== 'object' || entry === null) return;
  const fields: Readonly<Record<string, unknown>> = { ...entry };
  const { ifname, port } = fields;
  if (typeof ifname !== 'string' || typeof port !== 'number' || 'cntn' in fields) return;
  for (const [name, value] of Object.entries(fields)) {
    if (name === 'ifname' || name === 'port' || name === 'ifindex') continue;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0)
      into.set(`${ifname}/${port}`, plainName(name), BigInt(value));
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const PAIRS = /^\s+([A-Za-z_][\w .-]*?\s+\d+\s*)+$/;
