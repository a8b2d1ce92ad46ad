/** CI's turns: nothing is named that is not there, nothing is left out by all of them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { leftToOtherTurns, TURNS } from './turns.ts';

const ROOT = join(import.meta.dirname, '../..');

describe('turns of the long tests', () => {
  it('name files that there are, each once', () => {
    const files = TURNS.flat();
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
    expect(new Set(files).size).toBe(files.length);
  });

  it('leave nothing out: each file is run by one turn', () => {
    const files = TURNS.flat();
    for (const file of files) {
      const runs = TURNS.filter((_, turn) => !leftToOtherTurns(`${turn}`).includes(file));
      expect(runs, file).toHaveLength(1);
    }
    expect(leftToOtherTurns(`${TURNS.length + 1}`)).toEqual(leftToOtherTurns('1'));
  });

  it('are no matter of whoever runs everything', () => {
    expect(leftToOtherTurns(undefined)).toEqual([]);
    expect(leftToOtherTurns('')).toEqual([]);
    expect(() => leftToOtherTurns('one')).toThrow('whole number');
  });
});
