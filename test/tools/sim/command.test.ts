/**
 * Goal: the command does what its options say, and ends as they say. Method: the command in this process, and in one of
 * its own for ctrl-C, on a scenario of milliseconds; what shards write is put together again and compared with the run
 * that was not divided.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { readCapture } from '../../../pcap/index.ts';
import { runProgram } from '../../../tools/program.ts';
import { mergeFiles } from '../../../tools/sim/merge.ts';
import type { Json } from '../../../tools/sim/scenario/json.ts';
import { type Ended, startRoce } from '../roce/run-roce.ts';
import { folder, SMALL, scenarioFile, small } from './support.ts';

/** The command in this process: what it prints, and the exit code it leaves. */
async function sim(...args: string[]): Promise<Ended> {
  const outputs = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      outputs[name] += String(text);
      return true;
    });
  const before = process.exitCode;
  process.exitCode = undefined;
  try {
    const out = (text: string): unknown => process.stdout.write(text);
    const code = await runProgram(['sim', ...args], { out, err: (text) => process.stderr.write(text) });
    return { code: code ?? Number(process.exitCode ?? 0), ...outputs };
  } finally {
    process.exitCode = before;
    vi.restoreAllMocks();
  }
}

/** One folder for tests that build on each other. */
const there = mkdtempSync(join(tmpdir(), 'roce-sim-'));
afterAll(() => rmSync(there, { recursive: true, force: true }));

function written(name: string, json: Json): string {
  writeFileSync(join(there, name), JSON.stringify(json));
  return join(there, name);
}

const SWEEP = ['--sweep', 'traffic[0].bytes=1000,50000', '--seeds', '1..3', '--set', 'loss=0.001'];

describe('a sweep in shards', () => {
  const scenario = written('small.json', SMALL);
  const lines = (name: string): string => join(there, name);

  it('is, put together, the run that was not divided, byte for byte', async () => {
    const ran = [await sim(scenario, ...SWEEP, '--jsonl', lines('whole'), '--quiet')];
    for (const i of [0, 1, 2])
      ran.push(
        await sim(scenario, ...SWEEP, '--shard', `${i}/3`, '--jobs', '1', '--jsonl', lines(`part-${i}`), '--quiet'),
      );
    for (const ended of ran) expect(ended).toEqual({ code: 0, stderr: '', stdout: '' });
    const all = [2, 0, 1].map((i) => readFileSync(lines(`part-${i}`), 'utf8')).join('');
    const byIndex = all
      .trimEnd()
      .split('\n')
      .sort((a, b) => JSON.parse(a).index - JSON.parse(b).index);
    expect(`${byIndex.join('\n')}\n`).toBe(readFileSync(lines('whole'), 'utf8'));
    const merged = await sim(
      'merge',
      ...[1, 2, 0].map((i) => lines(`part-${i}`)),
      '--jsonl',
      lines('merged'),
      '--csv',
      '-',
      '--report',
      lines('report.html'),
    );
    expect(merged.code).toBe(0);
    expect(readFileSync(lines('merged'), 'utf8')).toBe(readFileSync(lines('whole'), 'utf8'));
    expect(merged.stdout.trimEnd().split('\n')).toHaveLength(7);
    expect(merged.stdout).toMatch(/^index,scenario,version,seed,loss,traffic\[0\]\.bytes,variant,passed,failed,error,/);
    expect(readFileSync(lines('report.html'), 'utf8')).toContain('<h2>Runs</h2>');
  });

  it('names what is missing, and takes what is there twice once', () => {
    const { records, missing } = mergeFiles([lines('part-0'), lines('part-1'), lines('part-0')]);
    expect(records.map(({ index }) => index)).toEqual([0, 1, 3, 4]);
    expect(missing).toEqual([2, 5]);
  });

  it('is refused where lines are of another sweep, or are none, naming file and line', () => {
    const [first = '', second = ''] = readFileSync(lines('whole'), 'utf8').split('\n');
    const refused = (...texts: string[]): string => {
      writeFileSync(lines('bad'), texts.join('\n'));
      try {
        mergeFiles([lines('bad')]);
      } catch (error) {
        if (error instanceof Error) return error.message.replace(lines('bad'), 'bad');
      }
      return 'not refused';
    };
    expect(refused(first, second.replace('"runs":6', '"runs":7'))).toMatch(
      /^bad:2: runs is 7, but 6 at .*not parts of one sweep$/,
    );
    expect(refused(first, first.replace('"seed":1', '"seed":4'))).toMatch(/^bad:2: run 0 is another one at/);
    expect(refused('{"index":0}')).toMatch(/^bad:1: runs: /);
    expect(refused('not json')).toMatch(/^bad:1: /);
    expect(refused('')).toBe('there is no line in these files');
  });
});

describe('a sweep that keeps its results', () => {
  const sweep = [written('kept.json', SMALL), ...SWEEP];
  const [results, lines, merged] = [join(there, 'results'), join(there, 'kept'), join(there, 'kept-merged')];

  it('runs those that have none, and gives the bytes of one that keeps nothing', async () => {
    // As the sweep in shards has left it.
    const whole = readFileSync(join(there, 'whole'), 'utf8');
    expect((await sim(...sweep, '--shard', '0/2', '--results', results, '--jobs', '1', '--quiet')).code).toBe(0);
    expect(readdirSync(results).sort()).toEqual(['case-0.json', 'case-2.json', 'case-4.json', 'plan.json']);
    // What is there is believed, so that a change shows whether it was run again.
    const changed = (text: string): string =>
      text.replace(/^.*"index":2,.*$/m, (line) => line.replace('true', 'false'));
    const file = join(results, 'case-2.json');
    const before = readFileSync(file, 'utf8');
    writeFileSync(file, changed(before));
    const { code, stderr } = await sim(...sweep, '--results', results, '--jobs', '2', '--jsonl', lines);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'roce sim: 3 of 6 runs have their result\nroce sim: 1 of 6 runs are not as expected: 2\n',
    });
    expect(readFileSync(lines, 'utf8')).toBe(changed(whole));
    writeFileSync(file, before);
    expect((await sim('merge', results, '--quiet', '--jsonl', merged)).code).toBe(0);
    expect(readFileSync(merged, 'utf8')).toBe(whole);
  });

  it.each([
    ['other seeds', ['--seeds', '4..6'], 'digest'],
    ['another setting', ['--set', 'loss=0.01'], 'digest'],
    ['another variant', ['--variant', 'small'], 'digest'],
    ['more of them', ['--seeds', '1..4'], 'cases'],
  ])('refuses a folder of %s', async (_, more, key) => {
    const { code, stderr } = await sim(...sweep, ...more, '--results', results);
    expect(code).toBe(2);
    expect(stderr).toMatch(new RegExp(`^roce sim: .*plan.json: ${key} is .*results of other cases\n$`));
  });

  it('refuses a result that stands in the file of another run', async () => {
    writeFileSync(join(results, 'case-1.json'), readFileSync(join(results, 'case-3.json')));
    for (const args of [
      [...sweep, '--results', results],
      ['merge', results],
    ]) {
      const { code, stderr } = await sim(...args);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: `roce sim: ${join(results, 'case-1.json')}: run 3 is in the file of run 1\n`,
      });
    }
  });
});

describe('one run', () => {
  it('leaves everything in a folder', async () => {
    const out = join(folder(), 'deep', 'out');
    const { code, stdout, stderr } = await sim(scenarioFile(SMALL), '--out', out);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('pass completed of small: 2, wanted == 2 - Both get there.');
    for (const name of ['runs.jsonl', 'runs.csv', 'flows.csv', 'series.csv', 'result.json', 'report.html'])
      expect([name, existsSync(join(out, name))]).toEqual([name, true]);
    expect(readFileSync(join(out, 'flows.csv'), 'utf8').trimEnd().split('\n')).toHaveLength(3);
    const result = JSON.parse(readFileSync(join(out, 'result.json'), 'utf8'));
    expect(result.record).toEqual(JSON.parse(readFileSync(join(out, 'runs.jsonl'), 'utf8')));
    expect(result.variants[0].outcome.series.length).toBeGreaterThan(3);
  });

  it('prints one document with --json, and frames go to a capture', async () => {
    const capture = join(folder(), 'frames.pcapng');
    const { code, stdout } = await sim(scenarioFile(SMALL), '--json', '--capture', capture, '--capture-frames', '7');
    expect(code).toBe(0);
    expect(JSON.parse(stdout).record.scenario).toBe('small');
    expect([...readCapture(readFileSync(capture))]).toHaveLength(7);
  });
});

describe('the exit code', () => {
  it('is 1 when an expectation does not hold, with the figure', async () => {
    const file = scenarioFile(small({ expect: [{ figure: 'completed', operator: '>', value: 2 }] }));
    const { code, stdout, stderr } = await sim(file);
    expect(code).toBe(1);
    expect(stdout).toContain('FAIL completed of small: 2, wanted > 2');
    expect(stderr).toBe('roce sim: not as expected\n');
  });

  it('is 1 when a run fails, and the others are run', async () => {
    const { code, stdout } = await sim(
      scenarioFile(SMALL),
      '--sweep',
      'switches.bufferBytes=1000,1000000',
      '--jsonl',
      '-',
    );
    const records = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(code).toBe(1);
    expect(records.map(({ error, variants }) => [typeof error, variants.length])).toEqual([
      ['string', 0],
      ['undefined', 1],
    ]);
  });

  it.each([
    ['an unknown field', [written('red.json', small({ colour: 'red' }))], /^roce sim: .+: colour: unknown field\n$/],
    ['no scenario', [], /^roce sim: a scenario is missing; --list prints the built-in ones\n$/],
    [
      'a strange name',
      ['no-such-thing'],
      /^roce sim: no-such-thing: no such file or scenario; --list prints the built-in ones\n$/,
    ],
    ['a slip', ['incst-fct'], /^roce sim: incst-fct: no such file or scenario; did you mean incast-fct\?\n$/],
    [
      'a value that is none',
      ['pfc-deadlock', '--sweep', 'mtu=256,300'],
      /^roce sim: .+: mtu: A path MTU of .*, not 300\n$/,
    ],
    [
      'a capture of many runs',
      ['pfc-deadlock', '--seeds', '1..2', '--capture', 'x'],
      /^roce sim: --capture is for one run, and these are 2\n$/,
    ],
    ['a variant that is none', ['pfc-deadlock', '--variant', 'x'], /^roce sim: --variant: there is no variant x; /],
    [
      'a shard that is none',
      ['pfc-deadlock', '--shard', '2/2'],
      /^roce sim: option '--shard <i\/n>' argument '2\/2' is invalid/,
    ],
  ])('is 2 and one line for %s', async (_, args, line) => {
    const { code, stdout, stderr } = await sim(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(line);
    expect(stderr.trimEnd()).not.toContain('\n');
  });

  it('is 130 after ctrl-C, and what was done is written', async () => {
    const running = startRoce(['sim', scenarioFile(SMALL), '--seeds', '1..100000', '--jobs', '1', '--jsonl', '-']);
    await running.shows('"index":1,');
    running.interrupt();
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(130);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).index)).toEqual(lines.map((_, index) => index));
    expect(stderr).toBe(`roce sim: interrupted; ${lines.length} of 100000 runs are done\n`);
  });
});

describe('what is there', () => {
  it('is listed, shown, and described for editors', async () => {
    const list = await sim('--list');
    const show = await sim('show', 'pfc-deadlock');
    const schema = await sim('schema');
    expect(list.stdout).toMatch(/^ {2}lossy-vs-lossless +star +4 +9 /m);
    expect(JSON.parse(show.stdout).name).toBe('pfc-deadlock');
    expect(JSON.parse(schema.stdout).properties.topology.description).toBe('Hosts, switches and links.');
  });
});
