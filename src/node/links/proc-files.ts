/** Reads files of `/proc` about sockets, which may disappear at any moment. Owns nothing. */
import { readFileSync, readlinkSync } from 'node:fs';

/** Where a symbolic link points; empty when it is gone, or another user's. */
export function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** The text of a file; empty when it is not there. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
