/**
 * Reads a tar archive as a stream and keeps the requested files. Pure, push-style: bytes in, entries out. Owns the
 * ustar header and the two GNU extensions dpkg writes (long name, long link). Never writes to the file system.
 *
 *   offset  0 name 100 | 100 mode 8 | 124 size 12 (octal) | 156 type 1 | 157 link name 100 | 257 "ustar" | 345 prefix 155
 */
import { invariant, RoceError } from 'rocev2/packets';

export interface TarEntry {
  /** Without a leading "./" or "/". */
  readonly path: string;
  readonly kind: 'file' | 'symlink' | 'hardlink' | 'directory' | 'other';
  /** Permission bits. */
  readonly mode: number;
  /** Target of a symbolic or hard link, else ''. */
  readonly link: string;
  readonly data: Buffer;
}

export class TarReader {
  readonly #keep: (path: string) => boolean;
  readonly #entries: TarEntry[] = [];
  readonly #block = Buffer.alloc(BLOCK_BYTES);
  #blockFill = 0;
  /** The entry whose bytes are passing; `data` is filled only when it is kept. */
  #current: { header: Header; data: Buffer; fill: number; keep: boolean } | undefined;
  /** Bytes of the current entry and its padding that are still to come. */
  #remaining = 0;
  #longName = '';
  #longLink = '';

  /** `keep` says which paths to keep the contents of; links and directories are asked for as well. */
  constructor(keep: (path: string) => boolean) {
    this.#keep = keep;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      at += this.#remaining > 0 ? this.#body(chunk, at) : this.#header(chunk, at);
    }
  }

  /** The kept entries; throws `RoceError` when the archive stopped in the middle of one. */
  end(): TarEntry[] {
    if (this.#current !== undefined || this.#blockFill !== 0) {
      throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', 'a Debian package ended in the middle of a file');
    }
    return this.#entries;
  }

  #header(chunk: Uint8Array, at: number): number {
    const take = Math.min(BLOCK_BYTES - this.#blockFill, chunk.length - at);
    this.#block.set(chunk.subarray(at, at + take), this.#blockFill);
    this.#blockFill += take;
    if (this.#blockFill < BLOCK_BYTES) return take;
    this.#blockFill = 0;
    // Two blocks of zeros end an archive; what follows them is zeros too.
    if (this.#block.every((byte) => byte === 0)) return take;
    const header = parseHeader(this.#block);
    const isExtension = header.type === 'L' || header.type === 'K';
    const named = isExtension ? header : this.#withLongNames(header);
    const keep = isExtension || this.#keep(named.path);
    this.#current = { header: named, data: Buffer.alloc(keep ? header.size : 0), fill: 0, keep };
    this.#remaining = Math.ceil(header.size / BLOCK_BYTES) * BLOCK_BYTES;
    if (this.#remaining === 0) this.#finish();
    return take;
  }

  #body(chunk: Uint8Array, at: number): number {
    const current = this.#current;
    invariant(current !== undefined, 'bytes of an entry follow its header');
    const take = Math.min(this.#remaining, chunk.length - at);
    if (current.keep && current.fill < current.data.length) {
      const useful = Math.min(take, current.data.length - current.fill);
      current.data.set(chunk.subarray(at, at + useful), current.fill);
      current.fill += useful;
    }
    this.#remaining -= take;
    if (this.#remaining === 0) this.#finish();
    return take;
  }

  #finish(): void {
    const current = this.#current;
    invariant(current !== undefined, 'an entry ends after it began');
    this.#current = undefined;
    const { header, data } = current;
    if (header.type === 'L') this.#longName = cString(data, 0, data.length);
    else if (header.type === 'K') this.#longLink = cString(data, 0, data.length);
    else if (current.keep) {
      const kind = KINDS[header.type] ?? 'other';
      this.#entries.push({ path: header.path, kind, mode: header.mode, link: header.link, data });
    }
  }

  #withLongNames(header: Header): Header {
    const path = this.#longName === '' ? header.path : cleanPath(this.#longName);
    const link = this.#longLink === '' ? header.link : this.#longLink;
    this.#longName = '';
    this.#longLink = '';
    return { ...header, path, link };
  }
}

interface Header {
  readonly path: string;
  readonly mode: number;
  readonly size: number;
  readonly type: string;
  readonly link: string;
}

function parseHeader(block: Buffer): Header {
  const type = String.fromCharCode(block.readUInt8(156));
  // Only a plain POSIX header has the prefix field; GNU keeps times there and spells its magic with a trailing space.
  const prefix = block.toString('latin1', 257, 263) === 'ustar\0' ? cString(block, 345, 155) : '';
  const name = cString(block, 0, 100);
  const carriesData = type === '0' || type === '\0' || type === 'L' || type === 'K' || type === 'x' || type === 'g';
  return {
    path: cleanPath(prefix === '' ? name : `${prefix}/${name}`),
    mode: octal(block, 100, 8) & 0o7777,
    size: carriesData ? octal(block, 124, 12) : 0,
    type,
    link: cString(block, 157, 100),
  };
}

function octal(block: Buffer, start: number, length: number): number {
  const text = cString(block, start, length).trim();
  if (!/^[0-7]*$/.test(text)) {
    throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', 'a Debian package holds a tar header that cannot be read');
  }
  return text === '' ? 0 : Number.parseInt(text, 8);
}

function cString(bytes: Buffer, start: number, length: number): string {
  const end = bytes.indexOf(0, start);
  return bytes.toString('utf8', start, end < 0 || end > start + length ? start + length : end);
}

function cleanPath(path: string): string {
  return path.replace(/^(?:\.?\/)+/, '').replace(/\/$/, '');
}

const BLOCK_BYTES = 512;
const KINDS: Readonly<Record<string, TarEntry['kind']>> = {
  '0': 'file',
  '\0': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '5': 'directory',
};
