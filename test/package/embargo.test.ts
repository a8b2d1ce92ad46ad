/**
 * Goal: nothing that is withheld gets into the package, a page, or any other file outside of embargo/. Method: the list
 * of files that npm would pack; the phrases of embargo/words.txt, looked for in every file; a planted phrase, so that
 * looking is known to find. What the built package holds, tarball.test.ts looks at.
 */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { EMBARGOED, ladderOf } from '../../tools/conformance/findings/index.ts';
import { EMBARGO_DIRECTORY, WITHHELD, WITHHELD_FINDINGS } from '../../tools/conformance/findings/withheld.ts';
import { readPublished } from '../../tools/conformance/page/results.ts';
import { filesBelow, leaksIn, phrasesIn, phrasesOf } from '../support/embargo.ts';
import { describeUnless } from '../support/need.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MADE = ['node_modules', '.git', 'coverage', '.lab', 'conformance-out', 'interop-out', 'experiment-out'];
const LEFT_OUT = new Set([...MADE, 'explorer-out', 'site-out', '/embargo', '/dist', '/tools/dist']);

describe('looking for phrases', () => {
  const phrases = phrasesOf('# a comment\nwindow of nothing\n\nrxe_do_it\n');

  it('reads a list of them', () => {
    expect(phrases).toEqual(['window of nothing', 'rxe_do_it']);
  });

  it.each([
    ['as it is', 'It is the window of nothing.'],
    ['in capitals', 'WINDOW OF NOTHING'],
    ['across lines', 'the window\n   of nothing'],
    ['across lines of a comment', ' * the window\n   * of nothing'],
    ['across strings that are joined', "'the window of ' +\n  'nothing'"],
    ['with escapes of Markdown', 'rxe\\_do\\_it'],
    ['in a quotation', '> the window\n> of nothing'],
    ['with emphasis', 'the window **of** nothing'],
    ['with tags', 'the <b title="x">window</b> of nothing'],
    ['with character references', 'the window&nbsp;of&#32;nothing'],
    ['with escapes of JSON', '{"a":"window\\nof\\u0020nothing"}'],
    ['as a name', 'a-window-of-nothing.pcapng'],
    ['as a name of a program', 'const windowOfNothing = 1;'],
    ['in words that are joined', "['window', 'of', 'nothing'].join(' ')"],
    ['in sixteen bits a character', 'w\0i\0n\0d\0o\0w\0 \0o\0f\0 \0n\0o\0t\0h\0i\0n\0g'],
    ['in base64', `href="#play=1.${btoa('{"a":"the window of nothing"}')}"`],
  ])('finds one %s', (_, text) => {
    expect(phrasesIn(text, phrases)).toHaveLength(1);
  });

  it('finds none where there is none', () => {
    expect(phrasesIn('a window, and nothing of it; rxe do it', phrases)).toEqual([]);
  });

  it('finds one that is planted in a file of a folder, and not in a folder that is left out', () => {
    const folder = mkdtempSync(join(tmpdir(), 'roce-embargo-'));
    try {
      mkdirSync(join(folder, 'docs'));
      mkdirSync(join(folder, 'embargo'));
      writeFileSync(join(folder, 'clean.md'), 'nothing here');
      mkdirSync(join(folder, 'docs/embargo'));
      for (const place of ['docs', 'embargo', 'docs/embargo'])
        writeFileSync(join(folder, place, 'a.md'), 'see rxe_do_it');
      writeFileSync(join(folder, 'docs/a-window-of-nothing.ladder'), 'nothing here');
      expect(leaksIn(folder, filesBelow(folder, LEFT_OUT), phrases).sort()).toEqual([
        'docs/a-window-of-nothing.ladder: window of nothing',
        'docs/a.md: rxe_do_it',
        'docs/embargo/a.md: rxe_do_it',
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('what is published', () => {
  it('packs nothing of embargo/, and SECURITY.md', () => {
    const json = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      ...{ cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    });
    // npm 11 and before print a list, later ones an object with a name for each package.
    const packed = Object.values<{ files: { path: string }[] }>(JSON.parse(json))[0];
    const paths = packed?.files.map(({ path }) => path) ?? [];
    expect(paths).toContain('SECURITY.md');
    expect(paths.filter((path) => /(?:^|\/)embargo\//.test(path))).toEqual([]);
  });

  it('says how many findings are withheld', () => {
    const say = `withheld: ${WITHHELD_FINDINGS} findings`;
    for (const page of ['SECURITY.md', 'docs/rxe-findings.md'])
      expect(readFileSync(join(ROOT, page), 'utf8')).toContain(say);
    for (const kernel of ['6.1', '6.12', 'sid'])
      expect(readPublished(`lab:${kernel}`)?.withheldFindings, kernel).toBeGreaterThan(0);
  });

  it('has no reason, capture or death for what is withheld', () => {
    for (const kernel of ['6.1', '6.12', 'sid']) {
      const { deaths = [], rules = [] } = readPublished(`lab:${kernel}`) ?? {};
      const rows = rules.filter(({ verdict }) => verdict === 'withheld');
      expect(rows.length, kernel).toBeGreaterThan(20);
      expect(rows.filter(({ reason, captures, known }) => reason !== '' || captures.length > 0 || known)).toEqual([]);
      expect(deaths).toEqual([]);
    }
  });
});

const isHere = existsSync(EMBARGO_DIRECTORY);
const whyNot = isHere ? undefined : 'this checkout has no folder embargo/, and does not know what is withheld';

describeUnless(whyNot, 'embargo/', () => {
  const phrases = isHere ? phrasesOf(readFileSync(join(EMBARGO_DIRECTORY, 'words.txt'), 'utf8')) : [];

  it('has phrases for every finding, each of which occurs in it', () => {
    const files = filesBelow(EMBARGO_DIRECTORY).filter((file) => file !== 'words.txt');
    const whole = files.map((file) => readFileSync(join(EMBARGO_DIRECTORY, file), 'latin1')).join('\n');
    expect(phrases.filter((phrase) => phrasesIn(whole, [phrase]).length === 0)).toEqual([]);
    for (const one of EMBARGOED)
      expect(phrasesIn(`${one.title} ${one.happens} ${one.source} ${one.name}`, phrases), one.name).not.toEqual([]);
    for (const { does, evidence } of WITHHELD.deviations)
      expect(phrasesIn(`${does} ${evidence}`, phrases), does).not.toEqual([]);
  });

  it('leaks no phrase into any other file of the repository', () => {
    expect(leaksIn(ROOT, filesBelow(ROOT, LEFT_OUT), phrases)).toEqual([]);
  });

  it('has no file whose bytes another file of the repository has', () => {
    const withheld = new Map(
      filesBelow(EMBARGO_DIRECTORY).map((file) => [readFileSync(join(EMBARGO_DIRECTORY, file)), file]),
    );
    const copies = filesBelow(ROOT, LEFT_OUT).flatMap((file) => {
      const { size } = statSync(join(ROOT, file));
      return [...withheld].filter(([bytes]) => bytes.length === size && bytes.equals(readFileSync(join(ROOT, file))));
    });
    expect(copies.map(([, file]) => file)).toEqual([]);
  });

  it('has one report for each finding that is counted, in plain text, with all that the kernel wants', () => {
    const reports = new Set([...WITHHELD.findings, ...WITHHELD.deviations].map(({ report }) => report));
    expect(readdirSync(join(EMBARGO_DIRECTORY, 'reports')).sort()).toEqual([...reports].sort());
    expect(reports.size).toBe(WITHHELD_FINDINGS);
    for (const report of reports) {
      const text = readFileSync(join(EMBARGO_DIRECTORY, 'reports', report), 'latin1');
      for (const part of [
        'Subject: ',
        'Affected versions',
        'Impact',
        'Trigger',
        'Analysis',
        'How to reproduce',
        'Suggested fix',
        'Found by',
        'Embargo',
      ])
        expect(text.includes(part), `${report}: ${part}`).toBe(true);
      expect(text).toMatch(/^[\n\t\x20-\x7e]*$/);
      expect(
        Math.max(
          ...text
            .split('\n')
            .filter((line) => !/np[mx] /.test(line))
            .map(({ length }) => length),
        ),
      ).toBeLessThan(90);
    }
  });

  it('names its ladders in the reports', () => {
    for (const one of EMBARGOED.filter((finding) => ladderOf(finding) !== undefined)) {
      const text = readFileSync(join(EMBARGO_DIRECTORY, 'reports', one.report ?? ''), 'utf8');
      expect(text).toContain(`embargo/findings/${one.name}.ladder`);
    }
  });
});
