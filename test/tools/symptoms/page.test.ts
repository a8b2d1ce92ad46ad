/**
 * Goal: docs/symptoms.md and its pictures say what the analyzer knows and says today.
 * Method: make them again and compare.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { SYMPTOMS } from '../../../pcap/analysis/detectors/index.ts';
import { symptomFiles } from '../../../tools/symptoms/page.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FILES = await symptomFiles();

describe('the page of symptoms', () => {
  it.each([...FILES.keys()])('has %s as `npm run docs:symptoms` writes it', (path) => {
    const file = join(ROOT, path);
    expect(existsSync(file), 'is missing: npm run docs:symptoms').toBe(true);
    expect(readFileSync(file, 'utf8') === FILES.get(path), 'is old: npm run docs:symptoms').toBe(true);
  });

  it('has a section and a picture for each symptom, and no other pictures', () => {
    const page = FILES.get('docs/symptoms.md') ?? '';
    for (const { id } of SYMPTOMS) expect(page).toContain(`\n## ${id}\n`);
    expect(readdirSync(join(ROOT, 'docs/symptoms')).sort()).toEqual(SYMPTOMS.map(({ id }) => `${id}.svg`).sort());
  });

  it('draws arrows, crosses and words into the pictures', () => {
    expect(FILES.get('docs/symptoms/sequence-error.svg')).toContain('NAK PSN sequence error');
    expect(FILES.get('docs/symptoms/sequence-error.svg')).toContain('class="cross');
    for (const [path, text] of FILES)
      if (path.endsWith('.svg')) expect(text.match(/<path|<line/g)?.length ?? 0, path).toBeGreaterThan(4);
  });
});
