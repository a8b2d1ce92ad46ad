/**
 * Goal: docs/simulation.md says what the program does. Method: its reference is what `roce sim fields` prints; every
 * field has words; every scenario that is built in is listed; its example is one; what it says to type is understood.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { simCommand } from '../../../tools/sim/main.ts';
import { parseSetting, parseSweep, planRuns } from '../../../tools/sim/run/plan.ts';
import { builtInNames, loadScenario, readScenario } from '../../../tools/sim/scenario/load.ts';
import { fieldsMarkdown, jsonSchema, type SchemaNode } from '../../../tools/sim/scenario/reference.ts';

const PAGE = readFileSync(new URL('../../../docs/simulation.md', import.meta.url), 'utf8');

/** Places of fields without words, everywhere below a node. */
function unexplained(node: SchemaNode, path: string): string[] {
  const own = Object.entries(node.properties ?? {}).flatMap(([name, field]) => {
    const at = `${path}.${name}`;
    const silent = (field.description ?? '') === '' && field.const === undefined;
    return [...(silent ? [at] : []), ...unexplained(field, at)];
  });
  const alternatives = [
    ...(node.anyOf ?? []),
    ...(node.oneOf ?? []),
    ...(node.items === undefined ? [] : [node.items]),
  ];
  return [...own, ...alternatives.flatMap((one) => unexplained(one, path))];
}

function objects(node: SchemaNode): SchemaNode[] {
  const below = [
    ...Object.values(node.properties ?? {}),
    ...(node.anyOf ?? []),
    ...(node.oneOf ?? []),
    ...(node.items === undefined ? [] : [node.items]),
  ].flatMap(objects);
  return node.properties === undefined ? below : [node, ...below];
}

describe('the reference', () => {
  it('is in the page, word for word', () => {
    // `npm run roce -- sim fields` prints what belongs there.
    expect(PAGE.trimEnd().endsWith(fieldsMarkdown().trimEnd())).toBe(true);
  });

  it('has words for every field', () => {
    expect(objects(jsonSchema()).length).toBeGreaterThan(25);
    expect(unexplained(jsonSchema(), '')).toEqual([]);
  });

  it('is of objects that refuse what they do not know', () => {
    const open = objects(jsonSchema()).filter(({ additionalProperties }) => additionalProperties !== false);
    expect(open).toEqual([]);
  });

  it('says where a time, a rate or a size has another unit than its name tells', () => {
    for (const { properties = {} } of objects(jsonSchema()))
      for (const [name, { unit, profileDefault }] of Object.entries(properties)) {
        if (unit === undefined || profileDefault !== undefined) continue;
        if (name.endsWith('Ns')) expect([name, unit]).toEqual([name, 'ns']);
        if (name.endsWith('Bps')) expect([name, unit]).toEqual([name, 'bit/s']);
        if (name.endsWith('Bytes')) expect([name, unit]).toEqual([name, 'bytes']);
      }
  });
});

describe('the page', () => {
  it('lists every scenario that is built in, and no other', () => {
    const [, table = ''] = /## Scenarios that are built in([\s\S]*?)\n## /.exec(PAGE) ?? [];
    const listed = [...table.matchAll(/^\| `([a-z0-9-]+)` /gm)].map(([, name]) => name);
    expect(listed.sort()).toEqual(builtInNames());
  });

  it('has an example that is a scenario', () => {
    const [, text = ''] = /```json\n([\s\S]*?)```/.exec(PAGE) ?? [];
    const { variants } = loadScenario({ path: 'example.json', json: JSON.parse(text) });
    expect(variants.map(({ name }) => name)).toEqual(['pauses-alone', 'dcqcn']);
  });

  it('has commands whose scenarios, variants, settings and sweeps are there', () => {
    const commands = [...PAGE.replaceAll(/\s*\\\n\s*|\n {14}/g, ' ').matchAll(/\broce sim ([a-z0-9-]+) (--[^#\n]*)/g)];
    const real = commands.filter(([, name = '']) => builtInNames().includes(name));
    expect(real.length).toBeGreaterThanOrEqual(5);
    for (const [, name = '', rest = ''] of real) {
      const values = (flag: string) =>
        [...rest.matchAll(new RegExp(`--${flag} ('[^']*'|\\S+)`, 'g'))].map(([, text = '']) =>
          text.replaceAll("'", ''),
        );
      for (const { settings } of planRuns(values('set').map(parseSetting), values('sweep').map(parseSweep), []))
        expect(() => loadScenario(readScenario(name), settings, undefined, values('variant'))).not.toThrow();
    }
  });

  it('explains every option', () => {
    const options = simCommand().options.map(({ long }) => long ?? '');
    expect(options.filter((option) => option !== '--list' && !PAGE.includes(`\`${option}`))).toEqual([]);
  });
});
