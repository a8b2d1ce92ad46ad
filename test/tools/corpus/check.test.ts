/**
 * Goal: a reader that shares no code with this project finds in the corpus what its JSON says, and would notice if not.
 * Method: corpus/check.py over the corpus, and over copies with something changed; scapy's ICRCs of the same packets.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readByScapy } from '../../interop/scapy.ts';
import { describeWith } from '../../support/need.ts';

interface EntryJson {
  readonly packets: number;
  readonly roce: number;
  readonly icrc: { readonly right: number; readonly wrong: number; readonly unknown: number };
}

const CORPUS = fileURLToPath(new URL('../../../corpus', import.meta.url));
const INDEX: { readonly version: string; readonly captures: readonly EntryJson[] } = JSON.parse(
  readFileSync(join(CORPUS, 'index.json'), 'utf8'),
);

function check(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync('python3', [join(CORPUS, 'check.py'), ...args], { encoding: 'utf8' });
  return { status, lines: stdout.trimEnd().split('\n'), stderr };
}

describeWith('python3', 'check.py', () => {
  let copy = '';
  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), 'roce-corpus-'));
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  /** Runs over a copy in which one file is changed. */
  function checkChanged(file: string, change: (bytes: Buffer) => Uint8Array) {
    cpSync(CORPUS, copy, { recursive: true, force: true });
    const path = join(copy, file);
    writeFileSync(path, change(readFileSync(path)));
    return check(copy);
  }

  it('finds all that is expected, and counts it', () => {
    const { version, captures } = INDEX;
    const sum = (of: (entry: EntryJson) => number): number => captures.reduce((total, entry) => total + of(entry), 0);
    const packets = `${sum((entry) => entry.packets)} packets, ${sum(({ roce }) => roce)} of RoCEv2`;
    const right = `${sum(({ icrc }) => icrc.right)} right, ${sum(({ icrc }) => icrc.wrong)} wrong`;
    const { status, lines } = check();
    expect(lines.slice(0, 2)).toEqual([
      `corpus ${version}: ${captures.length} captures, ${packets}`,
      `ICRC: ${right}, ${sum(({ icrc }) => icrc.unknown)} not captured`,
    ]);
    expect(lines[2]).toMatch(/^[0-9]{5} values compared, 0 differences$/);
    expect(status).toBe(0);
  });

  it('notices a flipped bit of a payload by the ICRC', () => {
    // Behind the headers of file and record: Ethernet, IPv4, UDP and BTH, 54 bytes.
    const flipped = checkChanged('formats/us-le.pcap', (bytes) => {
      bytes.writeUInt8(bytes.readUInt8(24 + 16 + 54) ^ 1, 24 + 16 + 54);
      return bytes;
    });
    expect(flipped.status).toBe(1);
    expect(flipped.lines[0]).toBe('formats/us-le.pcap: the file is not the one of the index');
    expect(flipped.lines).toContain('formats/us-le.pcap, packet 1, icrc right: expected True, found False');
  });

  it('notices one changed number of the JSON', () => {
    const changed = checkChanged('mads/cm.json', (bytes) =>
      Buffer.from(`${bytes}`.replace('"retryCount":6', '"retryCount":5')),
    );
    expect(changed.status).toBe(1);
    expect(changed.lines[0]).toBe('mads/cm.pcapng, packet 1, cm retryCount: expected 5, found 6');
    expect(changed.lines.at(-1)).toMatch(/, 1 differences$/);
  });

  it('says of a capture that ends early that it cannot be checked, and goes on', () => {
    const { status, lines } = checkChanged('real/udaddy.pcap', (bytes) => bytes.subarray(0, 100));
    expect(status).toBe(1);
    expect(lines).toContain('real/udaddy.pcap: cannot be checked: the last packet is not whole');
    expect(lines.at(-3)).toContain(`: ${INDEX.captures.length - 1} captures, `);
  });

  it('says in one line that a folder is no corpus', () => {
    const { status, stderr } = check(join(tmpdir(), 'roce-no-such-corpus'));
    expect(status).toBe(2);
    expect(stderr).toMatch(/^check\.py: no index of a corpus in [^\n]+\n$/);
  });
});

describeWith('scapy', 'scapy', () => {
  it.each([
    'opcodes/rc-ipv4',
    'opcodes/uc-ipv4',
    'opcodes/ud-ipv4',
    'opcodes/cnp-ipv4',
    'opcodes/syndromes',
    'icrc/pads',
  ])('computes the ICRCs of %s, one by one', (name) => {
    const { packets } = JSON.parse(readFileSync(join(CORPUS, `${name}.json`), 'utf8'));
    const found = readByScapy(join(CORPUS, `${name}.pcapng`));
    expect(found.map(({ number, computedIcrc }) => [number, computedIcrc])).toEqual(
      packets.map(({ number, icrc }: { number: number; icrc: { computed: string } }) => [number, icrc.computed]),
    );
    expect(found.length).toBeGreaterThan(0);
  });

  it('computes other ICRCs where the corpus says that they are wrong', () => {
    const { packets } = JSON.parse(readFileSync(join(CORPUS, 'icrc/damaged-ipv4.json'), 'utf8'));
    const found = readByScapy(join(CORPUS, 'icrc/damaged-ipv4.pcapng'));
    expect(found.map(({ icrc, computedIcrc }) => icrc === computedIcrc)).toEqual(
      packets.map(({ icrc }: { icrc: { right: boolean } }) => icrc.right),
    );
  });
});
