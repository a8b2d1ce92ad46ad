/**
 * What may have been meant by a word that is not known. Owns the distance between words. Cold path.
 */

/** Up to `limit` of `candidates`, nearest first; none when nothing is near. */
export function suggest(word: string, candidates: Iterable<string>, limit = 3): string[] {
  const wanted = word.toLowerCase();
  const scored: { readonly candidate: string; readonly score: number }[] = [];
  for (const candidate of new Set(candidates)) {
    const score = distanceScore(wanted, candidate);
    if (score !== undefined) scored.push({ candidate, score });
  }
  scored.sort(
    (a, b) => a.score - b.score || a.candidate.length - b.candidate.length || (a.candidate < b.candidate ? -1 : 1),
  );
  // Beside a near one, those farther off only confuse.
  const nearest = scored[0]?.score;
  const equals = scored.filter(({ score }) => score === nearest);
  return equals.slice(0, limit).map(({ candidate }) => candidate);
}

/**
 * Distance of two names; smaller is nearer. The end of a name, such as `bth.psn`, is nearer to `infiniband.bth.psn`
 * than any typing mistake; a single part of one, such as `psn`, comes after every typing mistake.
 */
function distanceScore(wanted: string, candidate: string): number | undefined {
  if (wanted.includes('.') && candidate.endsWith(`.${wanted}`)) return 0;
  // The product of lengths is bounded: what is longer than any word of ours by far is no slip.
  const tolerated = Math.min(MOST_SLIPS, Math.floor(wanted.length / 3) + (wanted.length > 1 ? 1 : 0));
  if (Math.abs(wanted.length - candidate.length) <= tolerated) {
    const distance = editDistance(wanted, candidate);
    if (distance <= tolerated) return distance;
  }
  if (wanted.length >= SHORTEST_PART && candidate.startsWith(wanted)) return MOST_SLIPS + 1;
  const parts = candidate.split(/[.-]/);
  return parts.includes(wanted) ? MOST_SLIPS + 2 : undefined;
}

/** Insertions, deletions, substitutions and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) best = Math.min(best, (beforeLast[j - 2] ?? 0) + 1);
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

const MOST_SLIPS = 3;
const SHORTEST_PART = 3;
