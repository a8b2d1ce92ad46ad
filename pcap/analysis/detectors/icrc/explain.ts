/**
 * Why the ICRCs of one sender are wrong, as text: a constant, a wrong recipe, a changed field, a flipped bit.
 *
 * Owns the order in which explanations are tried, the simplest mistake first. The severity is decided elsewhere.
 */
import type { IpAddress } from '../../../../packets/address.ts';
import { type ChangedFields, findChange, flippedByte } from './changed-fields.ts';
import { findRecipe, mistakesOf } from './recipes.ts';
import { headersAt, type IcrcSample } from './sample.ts';

/** What explains all wrong ICRCs of a sender. */
export interface Explanation {
  readonly kind: 'constant' | 'recipe' | 'changed';
  /** Follows "The ICRC": "is 0 in all of them", "fits when ...". */
  readonly clause: string;
  /** What to do about it. */
  readonly advice: string;
}

/** Explains samples of one sender; undefined when nothing known explains them. */
export function explain(samples: readonly IcrcSample[], known: readonly IpAddress[]): Explanation | undefined {
  const [first] = samples;
  if (first === undefined) return undefined;
  if (samples.length > 1 && samples.every(({ found }) => found === first.found)) {
    return {
      kind: 'constant',
      clause: `is 0x${first.found.toString(16).padStart(8, '0')} in all of them: it was not computed`,
      advice: 'Compute the ICRC, or look for the offload that should: a capture of the sender may be from before it.',
    };
  }
  const recipe = findRecipe(samples);
  if (recipe !== undefined) {
    return {
      kind: 'recipe',
      clause: `fits when computed ${mistakesOf(recipe).join(', ')}`,
      advice: 'Fix the recipe of the sender; packets/icrc.ts and the page on the wire have the right one.',
    };
  }
  const change = samples.length >= ENOUGH_FOR_CHANGES ? findChange(samples, known) : undefined;
  return change === undefined ? undefined : changed(change);
}

/** Where a single bit was turned over: "payload", "BTH"...; undefined when it was not just one. */
export function damagedPart(sample: IcrcSample): string | undefined {
  const at = flippedByte(sample);
  if (at < 0) return undefined;
  if (at >= sample.icrcAt) return 'ICRC';
  if (at >= headersAt(sample)) return 'extended headers or payload';
  if (at >= sample.bthAt) return 'BTH';
  return at >= sample.bthAt - UDP_BYTES ? 'UDP header' : 'IP header';
}

function changed({ fields, originals, translation }: ChangedFields): Explanation {
  const parts = fields.map((field, index) => {
    const original = originals[index] ?? '';
    return original === '' ? `other ${field}` : `${field} ${original}`;
  });
  return {
    kind: 'changed',
    clause: `fits with ${parts.join(' and ')}: changed after the ICRC had been computed`,
    advice: translation
      ? 'RoCE does not survive address translation: take NAT, load balancers and rewriting tunnels out of the path.'
      : 'Let the sender finish these header fields before it computes the ICRC, or take what rewrites them out of the path.',
  };
}

const UDP_BYTES = 8;
/** Fewer packets fit one field or another by chance. */
const ENOUGH_FOR_CHANGES = 3;
