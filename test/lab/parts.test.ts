// Goal: a part of the cache is there whole or not at all. Method: builds that work, fail, and race, in a directory of
// their own.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BuiltPart, buildPart, hash, readManifest } from '../../tools/lab/parts.ts';

describe('buildPart', () => {
  let cache: string;
  let parent: string;

  beforeEach(() => {
    cache = mkdtempSync(join(tmpdir(), 'roce-parts-'));
    parent = join(cache, 'parts');
  });

  afterEach(() => rmSync(cache, { recursive: true, force: true }));

  const built = (version: string): BuiltPart => {
    return { release: 'r', packages: [{ name: 'p', version, sha256: '00', depends: [] }] };
  };

  const fill =
    (version: string, text: string) =>
    async (scratch: string): Promise<BuiltPart> => {
      await writeFile(join(scratch, 'out', 'file'), text);
      return built(version);
    };

  it('builds once, and says from what', async () => {
    const directory = await buildPart(parent, 'x', {}, fill('1', 'one'));
    expect(await readFile(join(directory, 'file'), 'utf8')).toBe('one');
    expect(await readManifest(directory)).toEqual({ release: 'r', packages: { p: '1' } });
    expect(await buildPart(parent, 'x', {}, fill('2', 'two'))).toBe(directory);
    expect(readdirSync(join(cache, 'scratch'))).toEqual([]);
  });

  it('builds anew when asked, beside what is there', async () => {
    const first = await buildPart(parent, 'x', {}, fill('1', 'one'));
    const second = await buildPart(parent, 'x', { refresh: true }, fill('2', 'two'));
    expect(second).not.toBe(first);
    expect(readdirSync(parent).sort()).toEqual([first, second].map((path) => basename(path)).sort());
    const same = await buildPart(parent, 'x', { refresh: true }, fill('2', 'two again'));
    expect(await readFile(join(same, 'file'), 'utf8')).toBe('two');
  });

  it('leaves nothing of a build that failed', async () => {
    const failing = buildPart(parent, 'x', {}, async (scratch) => {
      await writeFile(join(scratch, 'out', 'file'), 'half');
      throw new Error('no more');
    });
    await expect(failing).rejects.toThrow('no more');
    expect([...readdirSync(parent), ...readdirSync(join(cache, 'scratch'))]).toEqual([]);
  });

  it('lets builds of the same run side by side', async () => {
    const directories = await Promise.all(['a', 'b', 'c'].map((text) => buildPart(parent, 'x', {}, fill('1', text))));
    expect(new Set(directories).size).toBe(1);
  });
});

describe('hash', () => {
  it('stands for the value, whatever it is', () => {
    expect(hash(['a', 1])).toBe(hash(['a', 1]));
    expect(hash(['a', 1])).not.toBe(hash(['a', 2]));
    expect(hash(null)).toMatch(/^[0-9a-f]{12}$/);
  });
});
