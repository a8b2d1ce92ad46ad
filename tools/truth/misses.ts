/**
 * Losses that are not told to be losses: what is said of them instead. Owns these tables and their sums.
 *
 * A loss that the account has and the analyzer does not tell is either named as one that cannot be told, or it is a
 * mistake: told to be overtaken, or not mentioned.
 */
import type { Judgement, Verdicts } from './judge.ts';
import { markdown, total } from './table.ts';

/** Verdicts seen from one place; several rows may be of one network and place. */
interface MissRow {
  readonly kind: string;
  readonly vantage: string;
  readonly judgement: Judgement;
}

/** As Markdown: losses that can be told, and those that cannot, by what is said of them. */
export function missTable(rows: readonly MissRow[]): string {
  const lines = sums(rows).map(({ kind, vantage, lost, decidable }) => {
    const cells = (said: Verdicts) => [total(said), said.lost, said.undecided, said.overtaken, said.nothing];
    return [kind, vantage, ...cells(decidable), ...cells(difference(lost, decidable))];
  });
  return markdown(MISS_HEAD, lines);
}

/** Without rows of which nothing was lost; the last one is the sum. */
function sums(rows: readonly MissRow[]): (Pick<MissRow, 'kind' | 'vantage'> & Pick<Judgement, 'lost' | 'decidable'>)[] {
  const byPlace = new Map<string, ReturnType<typeof sums>[number]>();
  for (const { kind, vantage, judgement } of rows)
    for (const [key, name, place] of [[`${kind}|${vantage}`, kind, vantage] as const, ['~', 'all', 'all'] as const]) {
      const { lost, decidable } = byPlace.get(key) ?? { lost: NONE, decidable: NONE };
      byPlace.set(key, {
        kind: name,
        vantage: place,
        lost: add(lost, judgement.lost),
        decidable: add(decidable, judgement.decidable),
      });
    }
  const { '~': all, ...places } = Object.fromEntries(byPlace);
  const some = Object.values(places).filter(({ lost }) => total(lost) > 0);
  return all === undefined ? some : [...some, all];
}

function add(one: Verdicts, other: Verdicts, sign = 1): Verdicts {
  return {
    lost: one.lost + sign * other.lost,
    overtaken: one.overtaken + sign * other.overtaken,
    undecided: one.undecided + sign * other.undecided,
    nothing: one.nothing + sign * other.nothing,
  };
}

const difference = (all: Verdicts, part: Verdicts): Verdicts => add(all, part, -1);

const NONE: Verdicts = { lost: 0, overtaken: 0, undecided: 0, nothing: 0 };
const MISS_HEAD =
  'network | seen at the | can be told | so told | told "cannot be told" | told overtaken | not mentioned | cannot be told | told lost | told "cannot be told" | told overtaken | not mentioned';
