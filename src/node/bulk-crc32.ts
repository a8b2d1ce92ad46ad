/**
 * Finds a faster CRC-32 than that of `packets/` for the ICRC of long packets, and plugs it in: Intel's ISA-L or
 * libdeflate when the system has one and a native link has loaded koffi anyway, and Node's own zlib where the engine
 * has no WebAssembly. Results are the same whichever it is. Owns the choice alone; once a thread. Measured on 4 KiB, as
 * parts of the time of zlib: ISA-L 0.37, WebAssembly 0.5, tables 2.3.
 */
import * as zlib from 'node:zlib';
import { type BulkCrc32, hasWasmCrc32, useBulkCrc32 } from '../../packets/crc32.ts';

type NativeCrc32 = (value: number, data: Uint8Array, length: number) => number;

/** Of koffi, what is used here. */
export interface LibraryLoader {
  load(path: string): { func(prototype: string): NativeCrc32 };
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
    prototype: 'uint32_t crc32_gzip_refl(uint32_t value, const uint8_t *data, uint64_t length)',
  },
  {
    name: 'libdeflate',
    files: ['libdeflate.so.0', 'libdeflate.0.dylib'],
    prototype: 'uint32_t libdeflate_crc32(uint32_t value, const uint8_t *data, size_t length)',
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
  const { crc32 }: { crc32?: BulkCrc32 } = zlib;
  if (crc32 === undefined) return 'tables';
  useBulkCrc32(crc32);
  return 'zlib';
}

/** Plugs in the fastest that the system's libraries have. Returns the name of what is plugged in then. */
export function installNativeCrc32(koffi: LibraryLoader): Crc32Name {
  for (const library of LIBRARIES) {
    if (chosen === library.name) return chosen;
    const native = loadLibrary(koffi, library);
    if (native === undefined) continue;
    useBulkCrc32(native);
    chosen = library.name;
    return chosen;
  }
  return installBulkCrc32();
}

function loadLibrary(koffi: LibraryLoader, { files, prototype }: Library): BulkCrc32 | undefined {
  for (const file of files) {
    try {
      const native = koffi.load(file).func(prototype);
      const crc32: BulkCrc32 = (data, value) => native(value, data, data.length);
      if (crc32(CHECK_INPUT, 0) === CHECK_VALUE) return crc32;
    } catch {
      // Not on this machine: the next one.
    }
  }
  return undefined;
}
