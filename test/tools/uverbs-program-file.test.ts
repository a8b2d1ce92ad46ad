/**
 * Goal: a program that the shim cannot get before is named with its reason, and no other is. Method: a program that is
 * linked statically and one that is not, copies with the bits of another user's program, made-up file headers.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { whyNoShim } from '../../tools/uverbs/program-file.ts';
import { describeWith } from '../support/need.ts';

const directory = mkdtempSync(join(tmpdir(), 'roce-program-file-'));
const at = (name: string): string => join(directory, name);
afterAll(() => rmSync(directory, { recursive: true }));

/** The first bytes of a program: its class (1 is 32 bits, 2 is 64), and program headers of these types. */
function made(name: string, elfClass: number, types: readonly number[]): string {
  const file = Buffer.alloc(64 + 56 * types.length);
  file.write('\x7fELF', 'latin1');
  file.set([elfClass, 1, 1], 4);
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(types.length, 56);
  for (const [index, type] of types.entries()) file.writeUInt32LE(type, 64 + 56 * index);
  writeFileSync(at(name), file);
  return at(name);
}

const [PT_LOAD, PT_INTERP] = [1, 3];
/** Any user and group but root's. */
const OTHER = 65_534;

describe('a program file', () => {
  it('of 32 bits is told', () => {
    expect(whyNoShim(made('narrow', 1, []))).toBe(`${at('narrow')} is a program of 32 bits, and the shim is not`);
  });

  it('that names no loader is told as static, and one that names it anywhere is not', () => {
    expect(whyNoShim(made('alone', 2, [PT_LOAD, PT_LOAD]))).toBe(
      `${at('alone')} is linked statically: the shim cannot get before it`,
    );
    expect(whyNoShim(made('loaded', 2, [PT_LOAD, PT_INTERP]))).toBeUndefined();
  });

  it('is not told of where it is a script, empty, a directory, or not there', () => {
    for (const [name, text] of [
      ['script', '#!/bin/sh\n'],
      ['empty', ''],
    ] as const)
      writeFileSync(at(name), text);
    for (const name of ['script', 'empty', '.', 'nowhere']) expect(whyNoShim(at(name)), name).toBeUndefined();
    expect(whyNoShim('no-such-program')).toBeUndefined();
  });

  it('with the setuid or setgid bit of its own user and group changes nothing', () => {
    const path = made('own', 2, [PT_INTERP]);
    for (const mode of [0o4755, 0o2755]) {
      chmodSync(path, mode);
      expect(whyNoShim(path)).toBeUndefined();
    }
  });
});

describeWith('netns', 'as root, a program file', () => {
  it.each([
    ['user', 0o4755, [OTHER, 0]],
    ['group', 0o2755, [0, OTHER]],
  ] as const)('that changes its %s is told', (name, mode, [user, group]) => {
    const path = made(name, 2, [PT_INTERP]);
    chownSync(path, user, group);
    chmodSync(path, 0o755);
    expect(whyNoShim(path)).toBeUndefined();
    chmodSync(path, mode);
    expect(whyNoShim(path)).toMatch(/ changes its user or group \(setuid\): the loader drops the shim$/);
  });
});

describeWith('compiler', 'what a compiler makes', () => {
  beforeAll(() => {
    writeFileSync(at('main.c'), 'int main(void) { return 0; }\n');
    for (const [name, flags] of [
      ['static', ['-static']],
      ['dynamic', []],
    ] as const)
      execFileSync('cc', [...flags, '-o', at(name), at('main.c')], { stdio: 'pipe' });
    copyFileSync(at('dynamic'), at('copy'));
  });

  it('is told where it is linked statically, and only there', () => {
    expect(whyNoShim(at('static'))).toMatch(/ is linked statically: the shim cannot get before it$/);
    for (const name of ['dynamic', 'copy']) expect(whyNoShim(at(name))).toBeUndefined();
  });
});
