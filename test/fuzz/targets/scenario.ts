/** Files of `roce sim`: any text is refused in one line, or is a scenario. An input is a file. */
import { readFileSync } from 'node:fs';
import { RoceError } from 'rocev2/packets';
import { type Json, mergePatch, parsePath, withValueAt } from '../../../tools/sim/scenario/json.ts';
import { builtInNames, loadScenario, scenarioPath } from '../../../tools/sim/scenario/load.ts';
import { type FuzzTarget, promise } from '../engine/target.ts';

function run(input: Uint8Array): string {
  let json: Json;
  try {
    json = JSON.parse(new TextDecoder().decode(input)) as Json;
  } catch (error) {
    if (error instanceof SyntaxError) return 'no JSON';
    throw error;
  }
  try {
    const settings = [{ path: parsePath('traffic[0].bytes'), value: 1000 }];
    const { variants } = loadScenario({ path: 'x.json', json }, input.length % 2 === 0 ? [] : settings, 7);
    mergePatch(json, json);
    withValueAt(json, ['a', 'b'], null);
    return variants.length === 1 ? 'a scenario' : 'a comparison';
  } catch (error) {
    if (!(error instanceof RoceError) || error.code !== 'ERR_ROCE_ARGUMENT') throw error;
    promise(!error.message.includes('\n') && error.message.length > 0, 'a refusal is one line');
    return error.message
      .replace(/^x\.json: /, '')
      .replace(/["'].*|\d+/g, 'N')
      .replace(/\(.*/, '')
      .slice(0, 50);
  }
}

export const target: FuzzTarget = {
  name: 'scenario',
  maxBytes: 4000,
  maxSteps: 20_000_000,
  words: ['{"', '":', '[', ']', '},', 'null', '1e9', '-1', '1e308', '"__proto__":', 'true', '0.5'],
  seeds: () => builtInNames().map((name) => compact(readFileSync(scenarioPath(name), 'utf8'))),
  run,
};

function compact(text: string): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(JSON.parse(text)));
}
