/**
 * What of a device's verdicts may be published. Owns which rows say `withheld`: a verdict beside the text of its rule
 * tells what to send, so the whole area of a withheld finding is left out, and every rule that stands for one of it.
 */
import { WITHHELD } from '../findings/withheld.ts';
import { DERIVED_RULES } from '../passive-checks/derived.ts';
import { matchRules, RULES } from '../rules/index.ts';
import type { Deviation } from '../rules/types.ts';
import type { ResultFile, ResultRow } from '../runner/files.ts';

/**
 * A result as pages and packages have it: no verdict, reason, capture or death that would show a withheld finding, but
 * their number.
 */
export function published(result: ResultFile): ResultFile {
  const reports = new Set(WITHHELD.deviations.filter((one) => isOf(one, result)).map(({ report }) => report));
  if (reports.size === 0) return result;
  return hide(result, hiddenRules(result), reports.size);
}

/**
 * A new result where this checkout does not know what is withheld: what the published one left out stays out, and all
 * deaths.
 * @param before the published result of the same device
 */
export function stillWithheld(result: ResultFile, before: ResultFile | undefined): ResultFile {
  const left = before?.rules.filter(({ verdict }) => verdict === 'withheld').map(({ rule }) => rule) ?? [];
  return hide(result, new Set(left), before?.withheldFindings ?? 0);
}

function hide(result: ResultFile, hidden: ReadonlySet<string>, withheldFindings: number): ResultFile {
  const blank = { verdict: 'withheld', reason: '', captures: [], durationMs: 0 } as const;
  const { rules, ...head } = result;
  const open = rules.map((row): ResultRow => (hidden.has(row.rule) ? { rule: row.rule, ...blank } : row));
  return { ...head, deaths: [], withheldFindings, rules: open };
}

/**
 * The areas of rules that the device breaks as a withheld finding says, and the rules that are judged by one of those.
 */
function hiddenRules(result: ResultFile): Set<string> {
  const shown = new Set(result.rules.filter(({ verdict }) => SAYS_NOTHING.has(verdict)).map(({ rule }) => rule));
  const broken = RULES.filter(
    ({ id, deviations }) => !shown.has(id) && deviations?.some((one) => one.withheld === true && isOf(one, result)),
  );
  const areas = new Set(broken.map(({ area }) => area));
  const derived = DERIVED_RULES.filter(({ from }) => matchRules(from).some((rule) => broken.includes(rule)));
  return new Set([...RULES.filter(({ area }) => areas.has(area)), ...derived].map(({ id }) => id));
}

/** Verdicts that a withheld finding has no part in. */
const SAYS_NOTHING: ReadonlySet<string> = new Set(['pass', 'not-applicable']);

const isOf = (one: Pick<Deviation, 'device' | 'versions'>, { device, deviceVersion }: ResultFile): boolean =>
  one.device === device && (one.versions?.includes(deviceVersion) ?? true);
