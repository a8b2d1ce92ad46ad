/** The errors that are an answer: `RoceError` with the code that is documented for what was called. */
import { RoceError, type RoceErrorCode } from '../../../../packets/index.ts';

/** The message of a refusal. @throws everything else */
export function isRefusal(error: unknown, ...codes: readonly RoceErrorCode[]): string {
  if (error instanceof RoceError && codes.includes(error.code) && error.message !== '') return error.message;
  throw error;
}
