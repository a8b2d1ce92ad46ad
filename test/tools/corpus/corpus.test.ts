/**
 * Goal: the folder corpus/ is what `npm run docs:corpus` writes, its JSON is what the schemas say, and it has every
 * opcode, header and kind of packet that it promises. Method: make it again and compare; validate by ajv; count.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { FrameStatus, frameStatusName, OPCODES } from '../../../packets/index.ts';
import { CORPUS_VERSION, corpusFiles } from '../../../tools/corpus/corpus.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FILES = await corpusFiles();
const MADE_BY_HAND = /^corpus\/(?:README\.md|LICENSE|[a-z]+\.schema\.json|check\.py|reader\/[a-z_]+\.py)$/;

interface PacketJson {
  readonly status: string;
  readonly about?: string;
  readonly bth?: { readonly opcode: number };
  readonly ip?: { readonly version: number };
  readonly aeth?: { readonly syndrome: number };
  readonly cm?: { readonly message: string };
  readonly tunnels?: readonly { readonly kind: string }[];
  readonly icrc?: { readonly right: boolean | null };
}

interface EntryJson {
  readonly file: string;
  readonly expected: string;
  readonly bytes: number;
  readonly verdict: readonly { readonly id: string; readonly severity: string }[] | null;
}

const json = (name: string) => JSON.parse(new TextDecoder().decode(FILES.get(`corpus/${name}`)));
const CAPTURES: readonly EntryJson[] = json('index.json').captures;
const PACKETS: readonly PacketJson[] = CAPTURES.flatMap(({ expected }) => json(expected).packets);

describe('the corpus', () => {
  it('is what `npm run docs:corpus` writes', () => {
    const old = [...FILES]
      .filter(([path, bytes]) => !readFileSync(join(ROOT, path)).equals(bytes))
      .map(([path]) => path);
    expect(old, 'npm run docs:corpus').toEqual([]);
  });

  it('has no other files but those written by hand', () => {
    const there = readdirSync(join(ROOT, 'corpus'), { recursive: true, encoding: 'utf8' })
      .map((name) => `corpus/${name}`)
      .filter((path) => statSync(join(ROOT, path)).isFile() && !path.includes('__pycache__'));
    expect(there.filter((path) => !FILES.has(path) && !MADE_BY_HAND.test(path))).toEqual([]);
    const bytes = there.reduce((sum, path) => sum + statSync(join(ROOT, path)).size, 0);
    expect(bytes).toBeLessThan(1_000_000);
  });

  it('is the same when it is made again', async () => {
    const again = await corpusFiles();
    const differing = [...FILES].filter(
      ([path, bytes]) => !Buffer.from(bytes).equals(again.get(path) ?? Buffer.alloc(0)),
    );
    expect(differing.map(([path]) => path)).toEqual([]);
  });

  it('has captures of less than 20 kB, but for few', () => {
    expect(CAPTURES.filter(({ bytes }) => bytes > 20_000).length).toBeLessThanOrEqual(2);
    expect(Math.max(...CAPTURES.map(({ bytes }) => bytes))).toBeLessThan(32_000);
  });

  it('has its version in the changelog of its README', () => {
    expect(readFileSync(join(ROOT, 'corpus/README.md'), 'utf8')).toContain(`\n### ${CORPUS_VERSION}\n`);
  });
});

describe('the schemas', () => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
  const schema = (name: string) => JSON.parse(readFileSync(join(ROOT, 'corpus', name), 'utf8'));
  const index = ajv.compile(schema('index.schema.json'));
  const capture = ajv.compile(schema('capture.schema.json'));

  it('describe the index and every file that it names', () => {
    expect([index(json('index.json')), index.errors]).toEqual([true, null]);
    for (const { expected } of CAPTURES)
      expect([expected, capture(json(expected)), capture.errors]).toEqual([expected, true, null]);
  });

  it.each([
    ['a value that is too large', { bth: { psn: 0x1_00_00_00 } }],
    ['a key that is not known', { surprise: 1 }],
    ['a status that is not known', { status: 'fine' }],
    ['an ICRC without the bytes', { icrc: { at: 60, right: true } }],
    ['a header without the ones below it', { bth: undefined }],
  ])('refuse %s', (_, change) => {
    const file = json('opcodes/rc-ipv4.json');
    const [first] = file.packets;
    const merged = Object.fromEntries(
      Object.entries({ ...first, ...change }).map(([key, value]) => {
        const both = key === 'bth' && typeof value === 'object';
        return [key, both ? { ...first.bth, ...value } : value];
      }),
    );
    expect(capture(JSON.parse(JSON.stringify({ ...file, packets: [merged] })))).toBe(false);
  });
});

describe('the packets of the corpus', () => {
  const seen = <T>(of: (packet: PacketJson) => T | undefined): Set<T> =>
    new Set(PACKETS.flatMap((packet) => of(packet) ?? []));

  it.each([4, 6])('have every known opcode over IPv%i, whole and with a right ICRC', (version) => {
    const good = PACKETS.filter(
      ({ status, ip, icrc }) => status === 'ok' && ip?.version === version && icrc?.right === true,
    );
    const missing = OPCODES.filter(({ known, code }) => known && !good.some(({ bth }) => bth?.opcode === code));
    expect(missing.map(({ name }) => name)).toEqual([]);
  });

  it('have every status, every syndrome below 0x80 and every message of connection management', () => {
    const statuses = Object.values(FrameStatus).map((status) =>
      frameStatusName(status)
        .replace(/(?!^)[A-Z]/g, '-$&')
        .toLowerCase(),
    );
    expect(statuses.filter((status) => !seen((packet) => packet.status).has(status))).toEqual([]);
    const syndromes = seen(({ aeth }) => aeth?.syndrome);
    expect(Array.from({ length: 128 }, (_, i) => i).filter((syndrome) => !syndromes.has(syndrome))).toEqual([]);
    expect(seen(({ cm }) => cm?.message).size).toBe(11);
    expect(new Set(PACKETS.flatMap(({ tunnels = [] }) => tunnels.map(({ kind }) => kind))).size).toBe(11);
  });

  it('say "right" and "wrong" where their ICRC is so', () => {
    for (const { about = '', icrc } of PACKETS) {
      if (/: (?:still|the ICRC is) right$/.test(about)) expect([about, icrc?.right]).toEqual([about, true]);
      if (/: wrong/.test(about)) expect([about, icrc?.right]).toEqual([about, false]);
    }
  });

  it('of real peers and sound traffic are sound by their verdict', () => {
    const sound = CAPTURES.filter(({ file }) => /^(?:real\/|scenes\/sound)/.test(file));
    expect(sound.length).toBeGreaterThanOrEqual(10);
    for (const { file, verdict } of sound) expect([file, verdict]).toEqual([file, []]);
  });
});
