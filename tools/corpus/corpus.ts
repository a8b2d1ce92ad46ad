/**
 * The corpus: captures, what is expected of each packet, and the index.
 *
 * Owns the layout of the folder `corpus/` as far as it is generated. What is written by hand there (README.md, LICENSE,
 * the schemas, check.py) is not touched. `npm run docs:corpus` writes it; a test compares it.
 */
import { createHash } from 'node:crypto';
import { Analyzer, readCapture } from 'rocev2/pcap';
import type { CorpusCapture } from './capture.ts';
import { Expectations, type Expected } from './expected.ts';
import { formatCaptures } from './families/formats.ts';
import { icrcCaptures } from './families/icrc.ts';
import { layerCaptures } from './families/layers.ts';
import { madCaptures } from './families/mads.ts';
import { malformedCaptures } from './families/malformed.ts';
import { opcodeCaptures } from './families/opcodes.ts';
import { realCaptures } from './families/real.ts';
import { sceneCaptures } from './families/scenes.ts';
import type { Value } from './hex.ts';

/** Semver: a changed meaning of a key is a major version, more captures or keys a minor one, corrections a patch. */
export const CORPUS_VERSION = '1.0.0';

/** Bytes of each generated file, by its path from the root of the project. */
export async function corpusFiles(): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  const entries: Expected[] = [];
  for (const capture of await corpusCaptures()) {
    const packets = expectationsOf(capture.bytes);
    files.set(`corpus/${capture.file}`, capture.bytes);
    files.set(`corpus/${jsonOf(capture.file)}`, text(lines({ capture: capture.file }, 'packets', packets)));
    entries.push(entryOf(capture, packets));
  }
  const head = { $schema: 'index.schema.json', version: CORPUS_VERSION, licence: 'CC0-1.0' };
  files.set('corpus/index.json', text(lines(head, 'captures', entries)));
  return files;
}

async function corpusCaptures(): Promise<readonly CorpusCapture[]> {
  const vectors = [opcodeCaptures(), icrcCaptures(), layerCaptures(), malformedCaptures(), madCaptures()];
  return [...vectors.flat(), ...formatCaptures(), ...(await sceneCaptures()), ...realCaptures()];
}

function expectationsOf(bytes: Uint8Array): Expected[] {
  const expectations = new Expectations();
  return Array.from(readCapture(bytes), (packet) => expectations.of(packet));
}

function entryOf({ file, about, traffic, bytes }: CorpusCapture, packets: readonly Expected[]): Expected {
  const icrcs = packets.map(({ icrc }) => icrc).filter((icrc) => icrc !== undefined);
  const count = (right: boolean | null): number => icrcs.filter((icrc) => rightOf(icrc) === right).length;
  return {
    file,
    expected: jsonOf(file),
    about,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    packets: packets.length,
    roce: packets.filter(({ bth }) => bth !== undefined).length,
    icrc: { right: count(true), wrong: count(false), unknown: count(null) },
    verdict: traffic ? verdictOf(bytes) : null,
  };
}

function rightOf(icrc: Value): Value | undefined {
  return typeof icrc === 'object' && icrc !== null && 'right' in icrc ? icrc['right'] : undefined;
}

/** What `roce analyze` finds, the worst first as it prints it. */
function verdictOf(bytes: Uint8Array): Value {
  const analyzer = new Analyzer();
  for (const packet of readCapture(bytes)) analyzer.packet(packet);
  return analyzer.finish().findings.map(({ id, severity }) => ({ id, severity }));
}

/** "a.pcapng" has "a.json". */
function jsonOf(file: string): string {
  return file.replace(/\.[^.]*$/, '.json');
}

/** JSON with each element of its one list on a line, so that a difference shows which. */
function lines(head: Expected, name: string, list: readonly Expected[]): string {
  const members = Object.entries(head).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)},\n`);
  const elements = list.map((element) => `    ${JSON.stringify(element)}`).join(',\n');
  return `{\n${members.join('')}  ${JSON.stringify(name)}: [\n${elements}\n  ]\n}\n`;
}

const text = (words: string): Uint8Array => new TextEncoder().encode(words);
