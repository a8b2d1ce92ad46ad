/**
 * Why a key did not allow an access: a guess from earlier accesses to the same host.
 *
 * Owns the reasoning. It names what the guess rests on and claims no more than that. Only the responder knows the
 * reason: "remote access error" covers an unknown key, a key that was invalidated, a range that is too long and a
 * missing right (ref:wire#7).
 */
import { OpFlag } from '../../../packets/opcode.ts';
import { hex } from './fatal-nak.ts';
import { type PastRequest, type RequestMemory, responderEndOf } from './request-memory.ts';

/** A guess. */
export interface AccessGuess {
  readonly reason:
    | 'key-invalidated'
    | 'key-never-used'
    | 'key-renewed'
    | 'other-key'
    | 'beyond-range'
    | 'right-missing'
    | 'key-ended'
    | 'unknown';
  /** A sentence without its end. */
  readonly text: string;
  /** What to do about it; a sentence. */
  readonly advice: string;
  /** A frame that it rests on; 0: none. */
  readonly frame: number;
}

/** Earlier uses of one key. */
interface KeyUse {
  rights: number;
  from: bigint;
  to: bigint;
  lastFrame: number;
  /** The last use with the access right that is requested now. */
  rightFrame: number;
}

/** @param failed frames of requests that were refused: no use of a key */
export function guessAccess(request: PastRequest, memory: RequestMemory, failed: ReadonlySet<number>): AccessGuess {
  const { rkey, va, dmaLength } = request;
  const end = va + BigInt(dmaLength);
  if (end > ADDRESS_SPACE) return beyond('the range goes beyond the end of the address space', 0);
  const right = rightOf(request);
  const past = survey(request, memory, failed);
  const same = past.keys.get(rkey);
  if (past.invalidated > (same?.lastFrame ?? 0)) {
    return {
      reason: 'key-invalidated',
      text: `the key was invalidated by the SEND with invalidate in frame ${past.invalidated}`,
      advice: 'Use a fresh key after SEND with invalidate: the old one is dead.',
      frame: past.invalidated,
    };
  }
  if (same === undefined) return guessUnused(request, past.keys);
  const range = `${hex(same.from, 1)} to ${hex(same.to, 1)}`;
  if ((same.rights & right) === 0) {
    return {
      reason: 'right-missing',
      text: `the same key worked for another operation (frame ${same.lastFrame}), so ${RIGHT_NAMES.get(right)} is probably missing`,
      advice: `Register the memory with ${RIGHT_NAMES.get(right)}, and allow it in the queue pair's access flags.`,
      frame: same.lastFrame,
    };
  }
  if (va < same.from || end > same.to) {
    return beyond(
      `earlier requests with this key stayed within ${range} (last in frame ${same.rightFrame}); this one ends at ${hex(end, 1)}, probably outside the region`,
      same.rightFrame,
    );
  }
  return {
    reason: 'key-ended',
    text: `the same key opened the same range in frame ${same.rightFrame}, so the region was probably deregistered, or registered anew, since then`,
    advice:
      'Send the new key to the peer whenever memory is registered anew, and keep it registered while the peer may use it.',
    frame: same.rightFrame,
  };
}

function beyond(text: string, frame: number): AccessGuess {
  return {
    reason: 'beyond-range',
    text,
    frame,
    advice: 'Compare address and length with the region that the peer registered.',
  };
}

function guessUnused({ rkey, va }: PastRequest, keys: ReadonlyMap<number, KeyUse>): AccessGuess {
  for (const [other, use] of keys) {
    if (other >>> 8 !== rkey >>> 8) continue;
    return {
      reason: 'key-renewed',
      text: `key ${hex(other)} of frame ${use.lastFrame} differs in its last byte only: one of the two is from an older registration`,
      advice: 'Send the new key to the peer whenever memory is registered anew.',
      frame: use.lastFrame,
    };
  }
  for (const [other, use] of keys) {
    if (va < use.from || va >= use.to) continue;
    return {
      reason: 'other-key',
      text: `the same memory was used with key ${hex(other)} before (frame ${use.lastFrame}), so this key is probably wrong or out of date`,
      advice: 'Check how the key gets to the requester: byte order, the right one of several, no older one.',
      frame: use.lastFrame,
    };
  }
  return {
    reason: keys.size > 0 ? 'key-never-used' : 'unknown',
    text:
      'no earlier request of the capture used this key: it may be wrong (byte order, an lkey), belong to another protection domain, have ended, ' +
      'or lack the right for this operation',
    advice: 'Compare key, address and length with what the peer registered and sent, byte order included.',
    frame: 0,
  };
}

/** All earlier requests to the same host, by key. */
function survey(
  request: PastRequest,
  memory: RequestMemory,
  failed: ReadonlySet<number>,
): { readonly keys: Map<number, KeyUse>; readonly invalidated: number } {
  const keys = new Map<number, KeyUse>();
  const wanted = rightOf(request);
  let invalidated = 0;
  for (const past of memory.to(responderEndOf(request).address)) {
    if (past.frame >= request.frame || failed.has(past.frame) || isSameRequest(past, request)) continue;
    if ((past.flags & OpFlag.Invalidate) !== 0) {
      if (past.rkey === request.rkey) invalidated = Math.max(invalidated, past.frame);
      continue;
    }
    const right = rightOf(past);
    // Nothing is checked for no bytes (ref:rxe#7).
    if (right === 0 || past.dmaLength === 0) continue;
    const end = past.va + BigInt(past.dmaLength);
    const use = keys.get(past.rkey);
    if (use === undefined) {
      keys.set(past.rkey, {
        rights: right,
        from: past.va,
        to: end,
        lastFrame: past.frame,
        rightFrame: right === wanted ? past.frame : 0,
      });
      continue;
    }
    use.rights |= right;
    if (past.va < use.from) use.from = past.va;
    if (end > use.to) use.to = end;
    use.lastFrame = Math.max(use.lastFrame, past.frame);
    if (right === wanted) use.rightFrame = Math.max(use.rightFrame, past.frame);
  }
  return { keys, invalidated };
}

/** The same request as another vantage point saw it. */
function isSameRequest(one: PastRequest, other: PastRequest): boolean {
  return one.psn === other.psn && one.rkey === other.rkey && one.va === other.va && one.dmaLength === other.dmaLength;
}

function rightOf({ flags }: PastRequest): number {
  if ((flags & (OpFlag.Write | OpFlag.AtomicWrite)) !== 0 && (flags & (OpFlag.Middle | OpFlag.Last)) === 0)
    return OpFlag.Write;
  return flags & (OpFlag.Read | OpFlag.Atomic | OpFlag.Flush);
}

const ADDRESS_SPACE = 1n << 64n;
/** As ibv_reg_mr(3) has them. */
const RIGHT_NAMES: ReadonlyMap<number, string> = new Map([
  [OpFlag.Write, 'IBV_ACCESS_REMOTE_WRITE'],
  [OpFlag.Read, 'IBV_ACCESS_REMOTE_READ'],
  [OpFlag.Atomic, 'IBV_ACCESS_REMOTE_ATOMIC'],
  [OpFlag.Flush, 'IBV_ACCESS_FLUSH_GLOBAL or IBV_ACCESS_FLUSH_PERSISTENT'],
]);
