/** Files of `roce experiment` and rules of `roce bump`: any text is refused, every fault on a line, or is an experiment. */
import { readFileSync } from 'node:fs';
import { RoceError } from 'rocev2/packets';
import { builtInNames, experimentPath, parseText } from '../../../tools/experiment/load.ts';
import { type FuzzTarget, promise } from '../engine/target.ts';

function run(input: Uint8Array): string {
  try {
    const { cases } = parseText(new TextDecoder().decode(input), {}, 'x.json');
    return cases.length === 1 ? 'an experiment of one case' : 'an experiment';
  } catch (error) {
    if (!(error instanceof RoceError) || error.code !== 'ERR_ROCE_ARGUMENT') throw error;
    const lines = error.message.split('\n');
    promise(
      lines.every((line) => line.startsWith('x.json: ')),
      'every line of a refusal names the file',
    );
    return (lines[0] ?? '')
      .replace(/^x\.json: /, '')
      .replace(/["'].*|\d+/g, 'N')
      .slice(0, 40);
  }
}

export const target: FuzzTarget = {
  name: 'experiment',
  maxBytes: 4000,
  maxSteps: 20_000_000,
  words: ['{"', '":', '[', ']', '},', 'null', '1e9', '-1', '"__proto__":', 'true', '${', '}'],
  seeds: () =>
    builtInNames().map((name) =>
      new TextEncoder().encode(JSON.stringify(JSON.parse(readFileSync(experimentPath(name), 'utf8')))),
    ),
  run,
};
