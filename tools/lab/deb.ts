/**
 * Opens Debian packages with dpkg-deb, without unpacking them to disk: names, modes and symbolic links stay as they are
 * and no root is needed. Also borrows dpkg-deb's xz and zstd decoders, which every Debian machine therefore has.
 */
import { type TarEntry, TarReader } from './tar.ts';
import { runTool } from './tool.ts';

/** The entries of a package whose path `keep` accepts. */
export async function readPackage(
  path: string,
  keep: (path: string) => boolean,
  signal?: AbortSignal,
): Promise<TarEntry[]> {
  const reader = new TarReader(keep);
  await runTool('dpkg-deb', ['--fsys-tarfile', path], { onOutput: (chunk) => reader.push(chunk), signal });
  return reader.end();
}

/**
 * Decompresses bytes of one xz or zstd stream. Node 20 has neither decoder and a small Debian machine has neither
 * program, but `dpkg-deb --fsys-tarfile` writes out whatever the data member of a package holds, so the bytes are
 * handed to it as one.
 */
export function decompress(bytes: Uint8Array, format: 'xz' | 'zst', signal?: AbortSignal): Promise<Buffer> {
  const emptyTar = Buffer.alloc(1024);
  const members = [
    arMember('debian-binary', Buffer.from('2.0\n')),
    arMember('control.tar', emptyTar),
    arMember(`data.tar.${format}`, bytes),
  ];
  const input = Buffer.concat([Buffer.from('!<arch>\n'), ...members]);
  return runTool('dpkg-deb', ['--fsys-tarfile', '-'], { input, signal });
}

/**
 * ar(5): name 16, time 12, user 6, group 6, mode 8, size 10, then a backtick and a newline; bodies padded to even
 * length.
 */
function arMember(name: string, body: Uint8Array): Buffer {
  const header = `${name.padEnd(16)}${'0'.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${String(body.length).padEnd(10)}\`\n`;
  return Buffer.concat([Buffer.from(header, 'latin1'), body, Buffer.alloc(body.length % 2, '\n')]);
}
