/** Goal: the examples of README.md and of the API's first page work as printed. Method: they are cut out and run. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it.each(['README.md', 'typedoc/introduction.md'])('runs the example of %s', (page) => {
  const readme = readFileSync(new URL(`../${page}`, import.meta.url), 'utf8');
  const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
  const directory = mkdtempSync(join(tmpdir(), 'roce-readme-'));
  const file = join(directory, 'example.mts');
  writeFileSync(file, example.replace(/["']rocev2["']/, `'${new URL('../src/index.ts', import.meta.url).href}'`));
  const { stdout, stderr } = spawnSync(process.execPath, ['--import', import.meta.resolve('tsx'), file], {
    encoding: 'utf8',
  });
  rmSync(directory, { recursive: true });
  expect(stderr).toBe('');
  expect(stdout).toBe('0 hello\n');
});
