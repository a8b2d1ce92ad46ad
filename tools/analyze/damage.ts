/** What the input of a command can be blamed for. */
import { RoceError } from 'rocev2/errors';

/** A file that is malformed, missing or unreadable; anything else is our own fault. */
export function isDamage(error: unknown): error is Error {
  return error instanceof RoceError || (error instanceof Error && 'syscall' in error && 'code' in error);
}
