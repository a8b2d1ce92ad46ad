/**
 * Writes and reads the cpio "newc" archive that the kernel unpacks as its initramfs. Pure. Owns the format, not what
 * goes into it.
 *
 *   "070701" then 13 numbers of 8 hex digits: inode, mode, uid, gid, links, mtime, size, device major and minor,
 *   rdev major and minor, name length with its zero, check; then the name and the data, each padded to 4 bytes.
 *   Source: Documentation/driver-api/early-userspace/buffer-format.rst of Linux. Archives may follow one another.
 */
import { RoceError } from 'rocev2/packets';

export type CpioEntry =
  | { readonly path: string; readonly kind: 'file'; readonly mode: number; readonly data: Uint8Array }
  | { readonly path: string; readonly kind: 'symlink'; readonly link: string }
  | { readonly path: string; readonly kind: 'directory' }
  | { readonly path: string; readonly kind: 'device'; readonly major: number; readonly minor: number };

/**
 * One archive of the entries, in path order, with the directories above each of them; times are zero, so equal entries
 * give equal bytes. A later entry replaces an earlier one of the same path. Throws `RoceError` for a path that is
 * absolute, empty or has a "..".
 */
export function writeCpio(entries: Iterable<CpioEntry>): Buffer {
  const byPath = new Map<string, CpioEntry>();
  for (const entry of entries) {
    checkPath(entry.path);
    for (const parent of parents(entry.path)) {
      if (!byPath.has(parent)) byPath.set(parent, { path: parent, kind: 'directory' });
    }
    const known = byPath.get(entry.path);
    if (known === undefined || entry.kind !== 'directory') byPath.set(entry.path, entry);
  }
  const parts: Uint8Array[] = [];
  let inode = 1;
  for (const path of [...byPath.keys()].sort()) {
    const entry = byPath.get(path);
    if (entry !== undefined) pushEntry(parts, entry, inode++);
  }
  pushRecord(parts, { name: TRAILER, inode: 0, mode: 0, links: 1, major: 0, minor: 0, data: EMPTY });
  const bytes = Buffer.concat(parts);
  return Buffer.concat([bytes, Buffer.alloc(-bytes.length & (ARCHIVE_ALIGNMENT_BYTES - 1))]);
}

/** The entries of one archive that `writeCpio` has written. */
export function readCpio(archive: Buffer): CpioEntry[] {
  const entries: CpioEntry[] = [];
  for (let at = 0; ; ) {
    const number = (index: number): number =>
      Number.parseInt(archive.toString('latin1', at + 6 + 8 * index, at + 14 + 8 * index), 16);
    const [mode, size, nameBytes] = [number(1), number(6), number(11)];
    const nameAt = at + HEADER_BYTES;
    const path = archive.toString('utf8', nameAt, nameAt + nameBytes - 1);
    if (path === TRAILER) return entries;
    const dataAt = aligned(nameAt + nameBytes);
    const data = archive.subarray(dataAt, dataAt + size);
    if ((mode & MODE_KIND) === MODE_FILE) entries.push({ path, kind: 'file', mode: mode & 0o7777, data });
    else if ((mode & MODE_KIND) === MODE_SYMLINK) entries.push({ path, kind: 'symlink', link: data.toString('utf8') });
    else if ((mode & MODE_KIND) === MODE_DIRECTORY) entries.push({ path, kind: 'directory' });
    else entries.push({ path, kind: 'device', major: number(9), minor: number(10) });
    at = aligned(dataAt + size);
  }
}

function pushEntry(parts: Uint8Array[], entry: CpioEntry, inode: number): void {
  const record = { name: entry.path, inode, links: 1, major: 0, minor: 0, data: EMPTY };
  switch (entry.kind) {
    case 'file':
      pushRecord(parts, { ...record, mode: MODE_FILE | (entry.mode & 0o7777), data: entry.data });
      break;
    case 'symlink':
      pushRecord(parts, { ...record, mode: MODE_SYMLINK | 0o777, data: Buffer.from(entry.link, 'utf8') });
      break;
    case 'directory':
      pushRecord(parts, { ...record, mode: MODE_DIRECTORY | 0o755, links: 2 });
      break;
    case 'device':
      pushRecord(parts, { ...record, mode: MODE_CHARACTER_DEVICE | 0o600, major: entry.major, minor: entry.minor });
      break;
  }
}

interface CpioRecord {
  readonly name: string;
  readonly inode: number;
  readonly mode: number;
  readonly links: number;
  readonly major: number;
  readonly minor: number;
  readonly data: Uint8Array;
}

function pushRecord(parts: Uint8Array[], record: CpioRecord): void {
  const name = Buffer.from(`${record.name}\0`, 'utf8');
  const { inode, mode, links, major, minor, data } = record;
  const numbers = [inode, mode, 0, 0, links, 0, data.length, 0, 0, major, minor, name.length, 0];
  const header = Buffer.from(MAGIC + numbers.map((value) => value.toString(16).padStart(8, '0')).join(''), 'latin1');
  parts.push(header, name, padding(header.length + name.length), data, padding(data.length));
}

function aligned(length: number): number {
  return length + (-length & 3);
}

function padding(length: number): Uint8Array {
  return Buffer.alloc(-length & 3);
}

function parents(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

function checkPath(path: string): void {
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..') || path.includes('\0')) {
    throw new RoceError('ERR_ROCE_ARGUMENT', `${JSON.stringify(path)} is not a relative path of an archive`);
  }
}

const MAGIC = '070701';
const TRAILER = 'TRAILER!!!';
const HEADER_BYTES = 110;
const MODE_KIND = 0o170000;
const MODE_FILE = 0o100000;
const MODE_DIRECTORY = 0o040000;
const MODE_SYMLINK = 0o120000;
const MODE_CHARACTER_DEVICE = 0o020000;
const ARCHIVE_ALIGNMENT_BYTES = 512;
const EMPTY = new Uint8Array(0);
