/**
 * Lets tshark, which is independent of this project, read the capture: does it see the packets that we sent?
 */
import { grouped } from '../table.ts';
import { type TsharkRow, tsharkAvailable, tsharkNumber, tsharkRows } from '../tshark.ts';
import type { DemoRun } from './run.ts';

export interface Confirmation {
  /** Lines to print. */
  readonly lines: readonly string[];
  /** False when tshark disagrees; true when it agrees or is not there. */
  readonly agrees: boolean;
}

/** Asks tshark for opcode, QPN and PSN of every frame of `file`. Throws when tshark fails. */
export async function confirmCapture(run: DemoRun, file: string): Promise<Confirmation> {
  const { available, version } = tsharkAvailable();
  if (!available) return { lines: ['  tshark   not installed, skipped'], agrees: true };
  return compareRows(run, await tsharkRows(file, FIELDS), version);
}

/** For the tests: `rows` is one for each frame of the capture. */
export function compareRows(run: DemoRun, rows: readonly TsharkRow[], version: string): Confirmation {
  const undamaged = rows.filter((_, index) => !run.damagedFrames.has(index + 1));
  const malformed = undamaged.filter((row) => (row.get('_ws.malformed')?.length ?? 0) > 0).length;
  const roce = undamaged.filter((row) => fieldOf(row, OPCODE) !== undefined).length;
  const equal = run.expectedFrames.filter(({ number, opcode, destQpn, psn }) => {
    const row = rows[number - 1];
    if (row === undefined) return false;
    return fieldOf(row, OPCODE) === opcode && fieldOf(row, QPN) === destQpn && fieldOf(row, PSN) === psn;
  }).length;
  const ours = run.expectedFrames.length;
  const agrees = rows.length === run.captureFrames && malformed === 0 && roce === ours && equal === ours;
  const lines = agrees
    ? [
        `  tshark   ${version} finds the same ${grouped(ours)} RoCE packets: opcode, QPN and PSN of each are equal, none is`,
        `           malformed (${run.damagedFrames.size} frames that the wire damaged aside)`,
      ]
    : [
        `  tshark   ${version} DISAGREES: ${rows.length} frames of ${run.captureFrames}, ${roce} undamaged RoCE packets of ${ours},`,
        `           ${equal} with the same opcode, QPN and PSN, ${malformed} malformed`,
      ];
  return { lines, agrees };
}

function fieldOf(row: TsharkRow, field: string): number | undefined {
  const [value] = row.get(field) ?? [];
  return value === undefined ? undefined : Number(tsharkNumber(value));
}

const OPCODE = 'infiniband.bth.opcode';
const QPN = 'infiniband.bth.destqp';
const PSN = 'infiniband.bth.psn';
const FIELDS = [OPCODE, QPN, PSN, '_ws.malformed'];
