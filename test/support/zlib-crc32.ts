/** zlib's CRC-32 in the place of a bulk routine of this machine. */
import { crc32 } from 'node:zlib';
import type { BulkCrc32 } from '../../packets/crc32.ts';

export const zlibBulkCrc32: BulkCrc32 = (bytes, start, end, value) => crc32(bytes.subarray(start, end), value);
