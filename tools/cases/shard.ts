/**
 * A share of many cases, as `--shard i/n` says it: every n-th case from the i-th on. Owns the words; what a case is,
 * and that its number is the same whoever runs it, is up to the command.
 */
import { RoceError } from 'rocev2/packets';

export interface Shard {
  readonly index: number;
  readonly of: number;
}

/** `i/n`, i from 0 on, as task and completion indices count. @throws RoceError ERR_ROCE_ARGUMENT */
export function parseShard(text: string): Shard {
  const [, index = '', of = ''] = /^(\d{1,6})\/(\d{1,6})$/.exec(text) ?? [];
  if (of === '' || Number(index) >= Number(of))
    throw new RoceError('ERR_ROCE_ARGUMENT', `${JSON.stringify(text)}: i/n with i from 0 to n - 1 is expected`);
  return { index: Number(index), of: Number(of) };
}

/** Those of one shard; all without one. */
export function inShard<T extends { readonly index: number }>(cases: readonly T[], shard: Shard | undefined): T[] {
  return cases.filter(({ index }) => shard === undefined || index % shard.of === shard.index);
}

/** The numbers of the cases of one shard, of so many in all. */
export function* indicesOf(cases: number, shard: Shard | undefined): Generator<number> {
  const { index, of } = shard ?? { index: 0, of: 1 };
  for (let at = index; at < cases; at += of) yield at;
}
