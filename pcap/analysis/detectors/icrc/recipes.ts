/**
 * Wrong ways to compute an ICRC that occur in practice, and the search for the one that explains some packets.
 *
 * Owns the list of mistakes of ref:wire#3 and their combinations: another polynomial, byte order, prefix, pad,
 * inversion, and fields that should have been masked. It prefers the explanation with the fewest mistakes. It reads no
 * more of a packet than its sample.
 */
import { CRC32, CRC32C, crcUpdate, effectOf, type IcrcSample, ONES, PREFIX } from './sample.ts';

/** One way to compute it; the right one has none of the mistakes. */
export interface Recipe {
  readonly polynomial: typeof CRC32 | typeof CRC32C;
  readonly pad: 'covered' | 'left-out' | 'behind-icrc';
  readonly prefix: 'ones' | 'none' | 'zeros';
  readonly initial: typeof ONES | 0;
  readonly inverted: boolean;
  readonly bigEndian: boolean;
  /** By field of `maskedFields`. */
  readonly masks: readonly Mask[];
}

/** The value used for a field that the network may change. */
export type Mask = 'ones' | 'as-sent' | 'zeros';

/** The simplest recipe that gives the ICRC of at least nine in ten of the samples; undefined when none does. */
export function findRecipe(samples: readonly IcrcSample[]): Recipe | undefined {
  // Packets with a pad distinguish more recipes than those without.
  const [first, ...others] = [...samples].sort((a, b) => b.padCount - a.padCount);
  if (first === undefined) return undefined;
  const candidates = recipesOf(first).sort((a, b) => mistakesOf(a).length - mistakesOf(b).length);
  const needed = Math.ceil(NEEDED_SHARE * samples.length);
  return candidates.find(
    (recipe) => mistakesOf(recipe).length > 0 && 1 + others.filter((sample) => gives(recipe, sample)).length >= needed,
  );
}

/** Whether the recipe gives the ICRC that the packet has. */
export function gives(recipe: Recipe, sample: IcrcSample): boolean {
  const { polynomial, pad, masks } = recipe;
  const end = endOf(pad, sample);
  const fields = maskedFields(sample);
  const delta = masks.reduce((sum, mask, index) => {
    const field = fields[index];
    return field === undefined ? sum : sum ^ maskEffect(sample, polynomial, end, field, mask);
  }, 0);
  return (registerOf(recipe, sample) ^ delta) >>> 0 === wanted(recipe, sample);
}

/** What is wrong with a recipe, in words that follow "computed". */
export function mistakesOf(recipe: Recipe): string[] {
  const { polynomial, pad, prefix, initial, inverted, bigEndian, masks } = recipe;
  const mistakes: string[] = [];
  if (polynomial === CRC32C) mistakes.push('with CRC-32C (Castagnoli) instead of CRC-32');
  if (bigEndian) mistakes.push('and stored big-endian');
  if (pad === 'left-out') mistakes.push('without the pad bytes');
  if (pad === 'behind-icrc') mistakes.push('and put before the pad bytes');
  if (prefix === 'none') mistakes.push('without the eight bytes of ones in front');
  if (prefix === 'zeros') mistakes.push('with zeros in the place of the eight bytes of ones in front');
  if (initial === 0) mistakes.push('from 0 on');
  if (!inverted) mistakes.push('without the inversion at the end');
  for (const [index, mask] of masks.entries()) {
    if (mask !== 'ones') mistakes.push(`with the ${FIELD_NAMES[index]} ${mask === 'zeros' ? 'as 0' : 'not masked'}`);
  }
  return mistakes;
}

interface MaskedField {
  readonly at: number;
  readonly length: number;
}

/** Fields that are all ones in the correct recipe, in the order of `FIELD_NAMES`. IPv6 has no header checksum. */
function maskedFields({ ipVersion, bthAt }: IcrcSample): readonly (MaskedField | undefined)[] {
  const transport = [
    { at: bthAt - 2, length: 2 },
    { at: bthAt + 4, length: 1 },
  ];
  if (ipVersion === 4) return [{ at: 1, length: 1 }, { at: 8, length: 1 }, { at: 10, length: 2 }, ...transport];
  return [{ at: 0, length: 4 }, { at: 7, length: 1 }, undefined, ...transport];
}

function maskEffect(
  { bytes, masked }: IcrcSample,
  polynomial: number,
  end: number,
  { at, length }: MaskedField,
  mask: Mask,
): number {
  if (mask === 'ones') return 0;
  const difference = new Uint8Array(length);
  // The version in the first word of IPv6 is no part of what is masked.
  for (let i = 0; i < length; i++) {
    const ones = masked[at + i] ?? 0;
    const version = at + i === 0 ? 0xf0 : 0;
    difference[i] = (ones ^ (mask === 'as-sent' ? (bytes[at + i] ?? 0) : 0)) & ~version;
  }
  return effectOf(polynomial, difference, at, end);
}

/** Every recipe that gives the ICRC of one packet. */
function recipesOf(sample: IcrcSample): Recipe[] {
  const found: Recipe[] = [];
  for (const polynomial of [CRC32, CRC32C] as const) {
    for (const pad of sample.padCount > 0 ? PADS : (['covered'] as const)) {
      const choices = maskChoices(sample, polynomial, endOf(pad, sample));
      for (const frameOfIt of FRAMES) {
        const recipe = { polynomial, pad, ...frameOfIt };
        const delta = (registerOf(recipe, sample) ^ wanted(recipe, sample)) >>> 0;
        const masks = choices.get(delta);
        if (masks !== undefined) found.push({ ...recipe, masks });
      }
    }
  }
  return found;
}

/** What each choice of masks adds to the register; of two that add the same the one with fewer mistakes. */
function maskChoices(sample: IcrcSample, polynomial: number, end: number): Map<number, readonly Mask[]> {
  let choices = new Map<number, readonly Mask[]>([[0, []]]);
  for (const field of maskedFields(sample)) {
    const next = new Map<number, readonly Mask[]>();
    for (const mask of MASKS) {
      if (field === undefined && mask !== 'ones') continue;
      const effect = field === undefined ? 0 : maskEffect(sample, polynomial, end, field, mask);
      for (const [delta, masks] of choices) {
        const sum = (delta ^ effect) >>> 0;
        const known = next.get(sum);
        const chosen = [...masks, mask];
        if (known === undefined || leftOpen(chosen) < leftOpen(known)) next.set(sum, chosen);
      }
    }
    choices = next;
  }
  return choices;
}

function leftOpen(masks: readonly Mask[]): number {
  return masks.filter((mask) => mask !== 'ones').length;
}

/** Register before the inversion, with every field masked. */
function registerOf(recipe: Omit<Recipe, 'masks'>, sample: IcrcSample): number {
  const { polynomial, pad, prefix, initial } = recipe;
  const lead = prefix === 'none' ? NOTHING : prefix === 'zeros' ? ZEROS : PREFIX;
  const state = crcUpdate(polynomial, initial, lead, 0, lead.length);
  return crcUpdate(polynomial, state, sample.masked, 0, endOf(pad, sample));
}

/** Register before the inversion that would make the ICRC found. */
function wanted({ pad, inverted, bigEndian }: Omit<Recipe, 'masks'>, sample: IcrcSample): number {
  const at = pad === 'behind-icrc' ? sample.icrcAt - sample.padCount : sample.icrcAt;
  const value = sample.view.getUint32(at, !bigEndian);
  return (inverted ? ~value : value) >>> 0;
}

function endOf(pad: Recipe['pad'], { icrcAt, padCount }: IcrcSample): number {
  return pad === 'covered' ? icrcAt : icrcAt - padCount;
}

const NEEDED_SHARE = 0.9;
const MASKS = ['ones', 'as-sent', 'zeros'] as const;
const PADS = ['covered', 'left-out', 'behind-icrc'] as const;
const FIELD_NAMES = [
  'traffic class (TOS)',
  'TTL or hop limit',
  'IP header checksum',
  'UDP checksum',
  'byte of FECN and BECN',
] as const;
const NOTHING = new Uint8Array(0);
const ZEROS = new Uint8Array(8);

/** All choices but polynomial, pad and masks. */
const FRAMES = (['ones', 'none', 'zeros'] as const).flatMap((prefix) =>
  ([ONES, 0] as const).flatMap((initial) =>
    [true, false].flatMap((inverted) =>
      [false, true].map((bigEndian) => ({ prefix, initial, inverted, bigEndian }) as const),
    ),
  ),
);
