/**
 * Goal: the patch for Wireshark's dissector is a whole patch, and the opcodes it names are those of this project.
 * Method: count the lines of its hunks, as `patch` does; compare the values and names that it adds with the table.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { OPCODES, Op, opcodeInfo, Service } from '../../../packets/index.ts';

const PATCH = readFileSync(
  fileURLToPath(new URL('../../../tools/wireshark/infiniband-icrc.patch', import.meta.url)),
  'utf8',
);
const [, ...HUNKS] = PATCH.split(/^(?=@@ )/m);
const ADDED = HUNKS.join('')
  .split('\n')
  .filter((line) => line.startsWith('+'));

describe('the patch for Wireshark', () => {
  it('has hunks of the lengths that they say, one behind the other', () => {
    let shift = 0;
    for (const hunk of HUNKS) {
      const [head = '', ...lines] = hunk.replace(/\n$/, '').split('\n');
      const [oldAt = 0, oldLines = 0, newAt = 0, newLines = 0] = (head.match(/\d+/g) ?? []).map(Number);
      const count = (signs: string): number => lines.filter((line) => signs.includes(line[0] ?? '')).length;
      expect([head, count(' -'), count(' +'), newAt - oldAt]).toEqual([head, oldLines, newLines, shift]);
      shift += newLines - oldLines;
    }
    expect(HUNKS.length).toBeGreaterThan(10);
  });

  it('names every opcode of XRC', () => {
    const named = ADDED.flatMap((line) => /\{ 0x(A\w|B\w), "XRC/.exec(line)?.[1] ?? []).map((hex) =>
      Number.parseInt(hex, 16),
    );
    expect(named).toEqual(
      OPCODES.filter(({ known, service }) => known && service === Service.Xrc).map(({ code }) => code),
    );
  });

  it.each([
    ['RC_FLUSH', Op.Flush],
    ['RC_ATOMIC_WRITE', Op.AtomicWrite],
    ['ROCE_CNP', Op.Cnp],
  ])('has the value of %s', (name, opcode) => {
    expect(opcodeInfo(opcode).known).toBe(true);
    const [line = ''] = ADDED.filter((each) => each.startsWith(`+#define ${name} `));
    expect(Number(/0x[0-9A-F]+/.exec(line)?.[0])).toBe(opcode);
  });
});
