/**
 * Finds a faster CRC-32 than that of `packets/` for the ICRC of long packets, and plugs it in: Intel's ISA-L or
 * libdeflate when the system has one and a native link has loaded koffi anyway, and Node's own zlib where the engine
 * has no WebAssembly. Results are the same whichever it is. Owns the choice alone; once a thread. Measured on 4 KiB, as
 * parts of the time of zlib: ISA-L 0.37, WebAssembly 0.5, tables 2.3.
 */
import * as zlib from 'node:zlib';
import { type BulkCrc32, hasWasmCrc32, useBulkCrc32 } from '../../packets/crc32.ts';

/** `data` is an array, or an address. */
type NativeCrc32 = (value: number, data: Uint8Array | number, length: number) => number;

/** Of koffi, what is used here. */
export interface LibraryLoader {
  load(path: string): { func(prototype: string): NativeCrc32 };
  address(of: Uint8Array): number | bigint;
}

interface Library {
  readonly name: Crc32Name;
  readonly files: readonly string[];
  readonly prototype: string;
}

/** All three continue a finished CRC, as zlib does. */
const LIBRARIES: readonly Library[] = [
  {
    name: 'ISA-L',
    files: ['libisal.so.2', 'libisal.2.dylib'],
    prototype: 'uint32_t crc32_gzip_refl(uint32_t value, const void *data, uint64_t length)',
  },
  {
    name: 'libdeflate',
    files: ['libdeflate.so.0', 'libdeflate.0.dylib'],
    prototype: 'uint32_t libdeflate_crc32(uint32_t value, const void *data, size_t length)',
  },
];

/** The check value of CRC-32: of the digits 1 to 9. */
const CHECK_INPUT = Uint8Array.from('123456789', (digit) => digit.charCodeAt(0));
const CHECK_VALUE = 0xcb_f4_39_26;

/** What computes the CRC-32 of long runs of bytes; 'WebAssembly' and 'tables' are this library's own code. */
export type Crc32Name = 'ISA-L' | 'libdeflate' | 'WebAssembly' | 'zlib' | 'tables';

let chosen: Crc32Name | undefined;

/** Plugs in zlib's where there is no WebAssembly, unless there is something already. Returns the name of what is. */
export function installBulkCrc32(): Crc32Name {
  chosen ??= hasWasmCrc32() ? 'WebAssembly' : installZlib();
  return chosen;
}

/** Node has it from 20.15 on. */
function installZlib(): Crc32Name {
  const { crc32 }: { crc32?: (data: Uint8Array, value: number) => number } = zlib;
  if (crc32 === undefined) return 'tables';
  useBulkCrc32((bytes, start, end, value) => crc32(bytes.subarray(start, end), value));
  return 'zlib';
}

/**
 * Plugs in the fastest that the system's libraries have. Returns the name of what is plugged in then.
 *
 * @param memories where most of the bytes will be: theirs are passed by address
 */
export function installNativeCrc32(koffi: LibraryLoader, memories: readonly SharedArrayBuffer[] = []): Crc32Name {
  for (const library of LIBRARIES) {
    if (chosen === library.name && memories.length === 0) return chosen;
    const native = loadLibrary(koffi, library);
    if (native === undefined) continue;
    useBulkCrc32(memories.length === 0 ? byView(native) : byAddress(native, addressesOf(koffi, memories)));
    chosen = library.name;
    return chosen;
  }
  return installBulkCrc32();
}

function loadLibrary(koffi: LibraryLoader, { files, prototype }: Library): NativeCrc32 | undefined {
  for (const file of files) {
    try {
      const native = koffi.load(file).func(prototype);
      if (native(0, CHECK_INPUT, CHECK_INPUT.length) === CHECK_VALUE) return native;
    } catch {
      // Not on this machine: the next one.
    }
  }
  return undefined;
}

function byView(native: NativeCrc32): BulkCrc32 {
  return (bytes, start, end, value) => {
    const data = bytes.subarray(start, end);
    return native(value, data, data.length);
  };
}

/**
 * To make a view of each run and find out where it lies takes longer than the CRC of a packet. Memory that threads
 * share has one address for as long as somebody holds it, as this does: it can neither be moved nor given away.
 */
function byAddress(native: NativeCrc32, addresses: ReadonlyMap<ArrayBufferLike, number>): BulkCrc32 {
  const view = byView(native);
  let known: Uint8Array | undefined;
  let address = 0;
  return (bytes, start, end, value) => {
    // A view ends where its array does, and an address does not.
    if (start < 0 || end > bytes.length) return view(bytes, start, end, value);
    if (bytes !== known) {
      const memory = addresses.get(bytes.buffer);
      if (memory === undefined) return view(bytes, start, end, value);
      known = bytes;
      address = memory + bytes.byteOffset;
    }
    return native(value, address + start, end - start);
  };
}

function addressesOf(koffi: LibraryLoader, memories: readonly SharedArrayBuffer[]): Map<ArrayBufferLike, number> {
  return new Map(memories.map((memory) => [memory, Number(koffi.address(new Uint8Array(memory)))]));
}
