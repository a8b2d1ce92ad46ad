/**
 * Text of any of the formats, one after the other in any order: each line says what it is.
 *
 * Owns the order in which formats are tried. A line that nothing knows is counted, never an error: what people paste
 * has prompts and remarks between.
 */
import type { SnapshotBuilder } from '../snapshot.ts';
import { csvReader } from './csv.ts';
import { readEthtool } from './ethtool.ts';
import { readHeader } from './header.ts';
import { readQos } from './mlnx-qos.ts';
import { readRdmaJson, readRdmaText } from './rdma-statistic.ts';
import type { TextState } from './state.ts';
import { readSysfsLine } from './sysfs.ts';

/** Reads a file of text. */
export function readText(text: string, into: SnapshotBuilder): void {
  const lines = text.split(/\r?\n/);
  const state: TextState = { into, netdev: '', rdmaPort: '', columns: [], csv: undefined };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (/^\s*\[/.test(line)) {
      const used = readRdmaJson(lines, at, into);
      if (used > 0) {
        at += used - 1;
        continue;
      }
    }
    readLine(line, state);
  }
}

function readLine(line: string, state: TextState): void {
  if (line.trim() === '') {
    state.csv = undefined;
    state.rdmaPort = '';
    return;
  }
  if (state.csv?.(line) === true) return;
  const known =
    readHeader(line, state) ||
    readSysfsLine(line, state.into) ||
    readRdmaText(line, state) ||
    readQos(line, state) ||
    readEthtool(line, state);
  if (known) return;
  state.csv = csvReader(line, state.into);
  if (state.csv === undefined) state.into.unreadable(line.trim());
}
