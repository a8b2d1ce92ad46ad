/**
 * The registry: every rule once, in the order of ref:conformance#3. Finds rules by id and by glob; what a rule says is
 * in the file of its area.
 */
import { RoceError } from 'rocev2/packets';
import { suggest } from 'rocev2/pcap/filter';
import { WITHHELD } from '../findings/withheld.ts';
import { ACK_RULES } from './ack.ts';
import { ANX_RULES } from './anx.ts';
import { ANX_INTERFACES_RULES } from './anx-interfaces.ts';
import { ATM_RULES } from './atm.ts';
import { CM_RULES } from './cm.ts';
import { CNP_RULES } from './cnp.ts';
import { KEY_RULES } from './key.ts';
import { LEN_RULES } from './len.ts';
import { MC_RULES } from './mc.ts';
import { MPE_RULES } from './mpe.ts';
import { ND_RULES } from './nd.ts';
import { OPS_RULES } from './ops.ts';
import { PKQ_RULES } from './pkq.ts';
import { PKT_RULES } from './pkt.ts';
import { QPS_RULES } from './qps.ts';
import { RD_RULES } from './rd.ts';
import { REQ_RULES } from './req.ts';
import { REQ_RETRIES_RULES } from './req-retries.ts';
import { RNR_RULES } from './rnr.ts';
import { RSP_PSN_RULES } from './rsp-psn.ts';
import type { ConformanceRule, Deviation } from './types.ts';
import { UC_RULES } from './uc.ts';
import { UD_RULES } from './ud.ts';
import { XRC_RULES } from './xrc.ts';

const PUBLISHED: readonly ConformanceRule[] = [
  ...PKT_RULES,
  ...RSP_PSN_RULES,
  ...OPS_RULES,
  ...LEN_RULES,
  ...KEY_RULES,
  ...RD_RULES,
  ...ATM_RULES,
  ...ACK_RULES,
  ...RNR_RULES,
  ...REQ_RULES,
  ...REQ_RETRIES_RULES,
  ...UC_RULES,
  ...UD_RULES,
  ...MC_RULES,
  ...PKQ_RULES,
  ...CM_RULES,
  ...ANX_RULES,
  ...ANX_INTERFACES_RULES,
  ...CNP_RULES,
  ...MPE_RULES,
  ...QPS_RULES,
  ...XRC_RULES,
  ...ND_RULES,
];

/**
 * All rules, area by area, ascending within an area; with the deviations that are not published, where this checkout
 * has them.
 */
export const RULES: readonly ConformanceRule[] = PUBLISHED.map((rule) => {
  const withheld = WITHHELD.deviations
    .filter((one) => one.rule === rule.id)
    .map(({ rule: _, report: __, ...deviation }): Deviation => ({ ...deviation, withheld: true }));
  return withheld.length === 0 ? rule : { ...rule, deviations: [...(rule.deviations ?? []), ...withheld] };
});

const BY_ID: ReadonlyMap<string, ConformanceRule> = new Map(RULES.map((rule) => [rule.id, rule]));

/** The rule with this id, as it is written in the registry (`PKT-01`); undefined when there is none. */
export function findRule(id: string): ConformanceRule | undefined {
  return BY_ID.get(id);
}

/**
 * The rules that a list of globs names, each once, in the order of the registry. Globs are separated by commas; `*`
 * stands for any characters, `?` for one; upper and lower case are the same: `PKT-*,RD-0?`. Throws ERR_ROCE_ARGUMENT
 * for a glob that names no rule, with the ids nearest to it.
 */
export function matchRules(globs: string): readonly ConformanceRule[] {
  const wanted = new Set<ConformanceRule>();
  for (const glob of globs.split(',').map((part) => part.trim().toUpperCase())) {
    const found = rulesOf(glob);
    if (found.length === 0) throw new RoceError('ERR_ROCE_ARGUMENT', `${nameOf(glob)} names no rule; ${hintFor(glob)}`);
    for (const rule of found) wanted.add(rule);
  }
  return RULES.filter((rule) => wanted.has(rule));
}

function rulesOf(glob: string): readonly ConformanceRule[] {
  const pattern = glob.replaceAll(/[^*?]/g, literally).replaceAll('?', '.').replaceAll(/\*+/g, '.*');
  const expression = new RegExp(`^${pattern}$`, 'u');
  return RULES.filter((rule) => expression.test(rule.id));
}

/** A character that stands for itself: what is special in an expression becomes a class of its own. */
function literally(character: string): string {
  return /[A-Z0-9-]/.test(character) ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

function nameOf(glob: string): string {
  return glob === '' ? 'an empty part of the list' : `'${glob}'`;
}

/** The ids nearest to what was asked for; where none is near, the areas. */
function hintFor(glob: string): string {
  const ids = RULES.map((rule) => rule.id.toLowerCase());
  const near = suggest(glob.replaceAll(/[*?]/g, ''), ids).map((id) => id.toUpperCase());
  if (near.length > 0) return `did you mean ${near.join(' or ')}?`;
  return `the areas are ${[...new Set(RULES.map((rule) => rule.area))].join(', ')}`;
}
