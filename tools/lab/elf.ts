/**
 * The little of ELF that image building needs: sections by name, the libraries a program loads, the description inside
 * a kernel module. Pure; 64-bit little-endian only (the guests are amd64). Bytes that are no such file give "nothing
 * found".
 *
 *   file header: 0 magic, 40 section table offset (8), 58 entry size (2), 60 count (2), 62 index of the name table (2)
 *   section:     0 name (4), 24 file offset (8), 32 size (8)
 */

/** The bytes of a section, or undefined. */
export function elfSection(bytes: Uint8Array, name: string): Uint8Array | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!isElf64(view)) return undefined;
  const names = sectionAt(view, view.getUint16(62, true));
  if (names === undefined) return undefined;
  const count = view.getUint16(60, true);
  for (let index = 0; index < count; index++) {
    const section = sectionAt(view, index);
    if (section !== undefined && stringAt(bytes, names.offset + section.name) === name) {
      return bytes.subarray(section.offset, section.offset + section.size);
    }
  }
  return undefined;
}

/** The names of the shared libraries (DT_NEEDED) that a program or library loads. */
export function neededLibraries(bytes: Uint8Array): string[] {
  const dynamic = elfSection(bytes, '.dynamic');
  const strings = elfSection(bytes, '.dynstr');
  if (dynamic === undefined || strings === undefined) return [];
  const view = new DataView(dynamic.buffer, dynamic.byteOffset, dynamic.byteLength);
  const needed: string[] = [];
  for (let at = 0; at + 16 <= view.byteLength; at += 16) {
    if (view.getUint32(at, true) === DT_NEEDED && view.getUint32(at + 4, true) === 0) {
      needed.push(stringAt(strings, view.getUint32(at + 8, true)));
    }
  }
  return needed;
}

/** The "key=value" strings of a kernel module's .modinfo section, by key; a key may occur more than once. */
export function moduleInfo(bytes: Uint8Array): Map<string, string[]> {
  const info = new Map<string, string[]>();
  const section = elfSection(bytes, '.modinfo');
  if (section === undefined) return info;
  for (const line of Buffer.from(section).toString('utf8').split('\0')) {
    const equals = line.indexOf('=');
    if (equals <= 0) continue;
    const key = line.slice(0, equals);
    info.set(key, [...(info.get(key) ?? []), line.slice(equals + 1)]);
  }
  return info;
}

/** Whether the bytes begin like a 64-bit little-endian ELF file. */
export function isElf(bytes: Uint8Array): boolean {
  return isElf64(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}

function isElf64(view: DataView): boolean {
  return view.byteLength >= 64 && view.getUint32(0) === 0x7f_45_4c_46 && view.getUint16(4) === 0x02_01;
}

function sectionAt(view: DataView, index: number): { name: number; offset: number; size: number } | undefined {
  const at = unsigned64(view, 40) + index * view.getUint16(58, true);
  if (at + 40 > view.byteLength) return undefined;
  return { name: view.getUint32(at, true), offset: unsigned64(view, at + 24), size: unsigned64(view, at + 32) };
}

/** A file offset or size; beyond 2^53 it is outside any file, which the callers' range checks find. */
function unsigned64(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}

function stringAt(bytes: Uint8Array, at: number): string {
  const end = bytes.indexOf(0, at);
  return Buffer.from(bytes.subarray(at, end < 0 ? bytes.length : end)).toString('utf8');
}

const DT_NEEDED = 1;
