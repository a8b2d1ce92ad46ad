/**
 * A rule as typed on a command line: `drop,opcode=write,psn=2,iteration=1`. Names are those of the JSON form; a range
 * is `2..5`, opcodes are separated by `|`, a field to rewrite is `set.bth.psn=5`. Owns this spelling; the schema says
 * what it means.
 */

import { compileRules } from 'rocev2/faults';
import { RoceError } from 'rocev2/packets';
import { describeIssues, type WireRule, wireRuleSchema } from './rules-file.ts';

/** @throws RoceError ERR_ROCE_ARGUMENT naming what is wrong in the text */
export function parseShortRule(text: string): WireRule {
  const [action = '', ...words] = text.split(',');
  const rule: Record<string, unknown> = { do: action };
  const on: Record<string, unknown> = {};
  const set: Record<string, unknown> = {};
  for (const word of words) {
    const equals = word.indexOf('=');
    if (equals < 0) throw fault(text, `${JSON.stringify(word)} has no value`);
    const name = word.slice(0, equals);
    const value = word.slice(equals + 1);
    if (name.startsWith('set.')) set[name.slice('set.'.length)] = readValue(value);
    else if (name === 'opcode') on[name] = value.split('|');
    else if (OF_RULE.has(name)) rule[name] = name === 'name' ? value : readValue(value);
    else on[name] = readValue(value);
  }
  if (Object.keys(set).length > 0) rule['set'] = set;
  const parsed = wireRuleSchema.safeParse({ ...rule, on });
  if (!parsed.success) throw fault(text, describeIssues(parsed.error));
  compileRules([{ ...parsed.data, name: text }]);
  return parsed.data;
}

/** A number, a range of them, a boolean, or the text itself for the schema to check. */
function readValue(text: string): unknown {
  const range = /^(-?\d+)\.\.(-?\d+)$/.exec(text);
  if (range !== null) return [Number(range[1]), Number(range[2])];
  if (text === 'true' || text === 'false') return text === 'true';
  return /^(?:0x[\da-f]+|-?\d+(?:\.\d+)?(?:e\d+)?)$/i.test(text) ? Number(text) : text;
}

function fault(text: string, what: string): RoceError {
  return new RoceError('ERR_ROCE_ARGUMENT', `rule ${JSON.stringify(text)}: ${what}`);
}

const OF_RULE: ReadonlySet<string> = new Set(['name', 'times', 'delayNs', 'copies', 'behind', 'bit', 'fixIcrc']);
