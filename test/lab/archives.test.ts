// Goal: the cpio writer and the tar reader keep every byte. Method: a reader of one and a writer of the other, written
// here from the formats, with properties over contents and over how the bytes are cut into chunks.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CpioEntry, readCpio as readWritten, writeCpio } from '../../tools/lab/cpio.ts';
import { TarReader } from '../../tools/lab/tar.ts';

describe('writeCpio', () => {
  it('writes the header of a file in hexadecimal, name and data padded to 4 bytes', () => {
    const bytes = writeCpio([{ path: 'abc', kind: 'file', mode: 0o755, data: Buffer.from('hello') }]);
    const header = bytes.toString('latin1', 0, 110);
    const number = (value: number): string => value.toString(16).padStart(8, '0');
    const fields = [1, 0o100755, 0, 0, 1, 0, 5, 0, 0, 0, 0, 4, 0];
    expect(header).toBe(`070701${fields.map(number).join('')}`);
    expect(bytes.toString('latin1', 110, 124)).toBe('abc\0\0\0hello\0\0\0');
    expect(bytes.toString('latin1', 124, 130)).toBe('070701');
    expect(bytes.length % 512).toBe(0);
  });

  it('is read back by readCpio, in path order', () => {
    const entries: CpioEntry[] = [
      { path: 'dev', kind: 'directory' },
      { path: 'dev/console', kind: 'device', major: 5, minor: 1 },
      { path: 'usr', kind: 'directory' },
      { path: 'usr/a', kind: 'file', mode: 0o755, data: Buffer.from('hello') },
      { path: 'usr/b', kind: 'symlink', link: 'a' },
      { path: 'usr/none', kind: 'file', mode: 0o600, data: Buffer.alloc(0) },
    ];
    expect(readWritten(writeCpio(entries))).toEqual(entries);
    expect(readWritten(writeCpio([]))).toEqual([]);
  });

  it('puts the directories above an entry before it, once', () => {
    const entries = readCpio(
      writeCpio([
        { path: 'usr/bin/b', kind: 'symlink', link: 'a' },
        { path: 'usr/bin/a', kind: 'file', mode: 0o755, data: Buffer.from('x') },
        { path: 'usr', kind: 'directory' },
        { path: 'dev/console', kind: 'device', major: 5, minor: 1 },
      ]),
    );
    expect(entries.map(({ path, mode }) => `${path} ${mode.toString(8)}`)).toEqual([
      'dev 40755',
      'dev/console 20600',
      'usr 40755',
      'usr/bin 40755',
      'usr/bin/a 100755',
      'usr/bin/b 120777',
    ]);
    expect(entries[1]).toMatchObject({ major: 5, minor: 1 });
    expect(entries[5]?.data.toString()).toBe('a');
  });

  it('keeps every file, whatever its name and contents', () => {
    const name = fc.stringMatching(/^[a-z.0-9é-]{1,20}$/).filter((text) => text !== '.' && text !== '..');
    const files = fc.dictionary(name, fc.uint8Array({ maxLength: 600 }), { maxKeys: 12 });
    fc.assert(
      fc.property(files, (contents) => {
        const entries = Object.entries(contents).map(
          ([path, data]): CpioEntry => ({ path, kind: 'file', mode: 0o644, data }),
        );
        const read = readCpio(writeCpio(entries));
        expect(Object.fromEntries(read.map(({ path, data }) => [path, [...data]]))).toEqual(
          Object.fromEntries(Object.entries(contents).map(([path, data]) => [path, [...data]])),
        );
        expect(new Set(read.map(({ inode }) => inode)).size).toBe(read.length);
      }),
    );
  });

  it.each(['/etc/passwd', '../x', 'a//b', 'a/./b', ''])('refuses the path %j', (path) => {
    expect(() => writeCpio([{ path, kind: 'directory' }])).toThrow(/relative path/);
  });
});

describe('TarReader', () => {
  const archive = Buffer.concat([
    tarEntry({ name: './usr/', type: '5', mode: 0o755, data: '' }),
    tarEntry({ name: './usr/bin/tool', type: '0', mode: 0o4755, data: 'x'.repeat(513) }),
    tarEntry({ name: './usr/bin/link', type: '2', mode: 0o777, data: '', link: 'tool' }),
    tarEntry({ name: '././@LongLink', type: 'L', mode: 0, data: `./long/${'n'.repeat(200)}\0` }),
    tarEntry({ name: './long/nnn', type: '0', mode: 0o644, data: 'long' }),
    tarEntry({ name: './after', type: '0', mode: 0o644, data: 'after' }),
    Buffer.alloc(1024),
  ]);

  it('gives the same entries however the archive is cut into chunks', () => {
    const expected = [
      { path: 'usr', kind: 'directory', mode: 0o755, link: '', text: '' },
      { path: 'usr/bin/tool', kind: 'file', mode: 0o4755, link: '', text: 'x'.repeat(513) },
      { path: 'usr/bin/link', kind: 'symlink', mode: 0o777, link: 'tool', text: '' },
      { path: `long/${'n'.repeat(200)}`, kind: 'file', mode: 0o644, link: '', text: 'long' },
      { path: 'after', kind: 'file', mode: 0o644, link: '', text: 'after' },
    ];
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: archive.length })), (cuts) => {
        const reader = new TarReader(() => true);
        const edges = [0, ...[...cuts].sort((a, b) => a - b), archive.length];
        for (const [index, start] of edges.slice(0, -1).entries())
          reader.push(archive.subarray(start, edges[index + 1]));
        const entries = reader.end();
        const seen = entries.map(({ path, kind, mode, link, data }) => ({
          path,
          kind,
          mode,
          link,
          text: data.toString(),
        }));
        expect(seen).toEqual(expected);
      }),
    );
  });

  it('keeps only what it is asked for', () => {
    const reader = new TarReader((path) => path === 'after');
    reader.push(archive);
    expect(reader.end().map(({ path }) => path)).toEqual(['after']);
  });

  it('says so when an archive ends inside a file', () => {
    const reader = new TarReader(() => true);
    reader.push(archive.subarray(0, 1300));
    expect(() => reader.end()).toThrow(/middle of a file/);
  });
});

interface ReadEntry {
  readonly path: string;
  readonly inode: number;
  readonly mode: number;
  readonly major: number;
  readonly minor: number;
  readonly data: Buffer;
}

function readCpio(bytes: Buffer): ReadEntry[] {
  const entries: ReadEntry[] = [];
  for (let at = 0; ; ) {
    const field = (index: number): number =>
      Number.parseInt(bytes.toString('latin1', at + 6 + index * 8, at + 14 + index * 8), 16);
    expect(bytes.toString('latin1', at, at + 6)).toBe('070701');
    const nameEnd = at + 110 + field(11);
    const path = bytes.toString('utf8', at + 110, nameEnd - 1);
    const start = Math.ceil(nameEnd / 4) * 4;
    if (path === 'TRAILER!!!') return entries;
    const data = bytes.subarray(start, start + field(6));
    entries.push({ path, inode: field(0), mode: field(1), major: field(9), minor: field(10), data });
    at = Math.ceil((start + data.length) / 4) * 4;
  }
}

function tarEntry(entry: { name: string; type: string; mode: number; data: string; link?: string }): Buffer {
  const header = Buffer.alloc(512);
  header.write(entry.name, 0, 'latin1');
  header.write(`${entry.mode.toString(8).padStart(7, '0')}\0`, 100, 'latin1');
  header.write(`${entry.data.length.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  header.write(entry.type, 156, 'latin1');
  header.write(entry.link ?? '', 157, 'latin1');
  header.write('ustar  \0', 257, 'latin1');
  const body = Buffer.alloc(Math.ceil(entry.data.length / 512) * 512);
  body.write(entry.data, 'latin1');
  return Buffer.concat([header, body]);
}
