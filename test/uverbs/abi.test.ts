/**
 * The tables of the kernel's user ABI against the headers that programs are compiled with.
 * Method: a C program, made from the tables, prints what a compiler says of each size, offset and number.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as cm from '../../src/uverbs/abi/cm.ts';
import { CmCommand, Command, ExtendedCommand } from '../../src/uverbs/abi/commands.ts';
import * as queues from '../../src/uverbs/abi/queues.ts';
import * as rxe from '../../src/uverbs/abi/rxe.ts';
import { bytes, type Struct, struct, u8, u16, u32, u64 } from '../../src/uverbs/abi/struct.ts';
import * as verbs from '../../src/uverbs/abi/verbs.ts';
import { describeUnless, describeWith } from '../support/need.ts';

const HEADERS = ['ib_user_verbs.h', 'rdma_user_rxe.h', 'rdma_user_cm.h', 'ib_user_sa.h'];
const STRUCTS: readonly Struct[] = [...new Set([verbs, queues, rxe, cm].flatMap((table) => Object.values(table)))];

const NUMBERS: readonly (readonly [string, number])[] = [
  ...Object.entries(Command).map(([name, value]) => [`IB_USER_VERBS_CMD_${name}`, value] as const),
  ...Object.entries(ExtendedCommand).map(([name, value]) => [`IB_USER_VERBS_EX_CMD_${name}`, value] as const),
  ...Object.entries(CmCommand).map(([name, value]) => [`RDMA_USER_CM_CMD_${name}`, value] as const),
];

/** A member of a union has no type with a name: it is reached through the structure around it. */
function expressions({ name, members }: Struct): string[] {
  const [outer = '', ...path] = name.split('.');
  const inner = path.join('.');
  const whole = inner === '' ? `sizeof(struct ${outer})` : `sizeof(((struct ${outer} *)0)->${inner})`;
  const begin = inner === '' ? '0' : `offsetof(struct ${outer}, ${inner})`;
  return [
    whole,
    ...Object.keys(members).flatMap((member) => {
      const full = inner === '' ? member : `${inner}.${member}`;
      return [`offsetof(struct ${outer}, ${full}) - ${begin}`, `sizeof(((struct ${outer} *)0)->${full})`];
    }),
  ];
}

/** The same figures from a table, with their names. */
function figures({ name, size, at, members }: Struct): string[] {
  return [
    `${name} ${size}`,
    ...Object.keys(members).flatMap((member) => [
      `${name}.${member} at ${at[member]}`,
      `${name}.${member} has ${members[member]?.size}`,
    ]),
  ];
}

function compiled(all: readonly string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'roce-abi-'));
  try {
    const includes = HEADERS.map((header) => `#include <rdma/${header}>`).join('\n');
    const prints = all.map((expression) => `printf("%lu\\n", (unsigned long)(${expression}));`).join('\n');
    const source = `#include <stdio.h>\n#include <stddef.h>\n${includes}\nint main(void) {\n${prints}\nreturn 0;\n}\n`;
    writeFileSync(join(folder, 'abi.c'), source);
    const built = spawnSync('cc', ['-o', join(folder, 'abi'), join(folder, 'abi.c')], { encoding: 'utf8' });
    expect(built.stderr).toBe('');
    return spawnSync(join(folder, 'abi'), { encoding: 'utf8' }).stdout.trim().split('\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const missing = HEADERS.every((header) => existsSync(`/usr/include/rdma/${header}`))
  ? undefined
  : 'the kernel headers of rdma are not installed (linux-libc-dev)';

describeUnless(missing, 'the ABI tables and the headers of the kernel', () => {
  describeWith('compiler', 'as a compiler reads them', () => {
    it('agree on every size, offset and number', () => {
      const got = compiled([...STRUCTS.flatMap(expressions), ...NUMBERS.map(([name]) => name)]);
      const ours = [...STRUCTS.flatMap(figures), ...NUMBERS.map(([name, value]) => `${name} ${value}`)];
      expect(ours.length).toBeGreaterThan(700);
      const theirs = ours.map((line, i) => line.replace(/\S+$/, got[i] ?? '?'));
      expect(ours).toEqual(theirs);
    });
  });
});

it('a structure is laid out as C lays it out', () => {
  const inner = struct('inner', { a: u8, b: u16 });
  const outer = struct('outer', { a: u8, in: inner, b: u64, c: u32, d: bytes(3) });
  expect(outer.at).toEqual({ a: 0, in: 2, b: 8, c: 16, d: 20 });
  expect([inner.size, outer.size, outer.align]).toEqual([4, 24, 8]);
  // What needs no alignment gets none.
  const odd = struct('odd', { a: bytes(3) });
  expect([odd.size, odd.align, struct('outer', { a: u8, in: odd, b: u8 }).at.b]).toEqual([3, 1, 4]);
});
