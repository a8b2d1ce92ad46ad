/**
 * Goal: frames that are shown in any order, as in the graphical program, get no false marks. Method: sharkd, which is
 * that program without a window, with the script as a personal plug-in, asked for frames of a conversation with losses
 * one by one.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OpFlag } from '../../../packets/opcode.ts';
import { play } from '../../../tools/symptoms/scene.ts';
import { describeWith } from '../../support/need.ts';
import { packetsOf } from '../verify/made-capture.ts';
import { LUA_SCRIPT, luaRows } from './lua.ts';

describeWith('sharkd', 'frames in any order', () => {
  const home = mkdtempSync(join(tmpdir(), 'roce-sharkd-'));
  const file = join(home, 'capture.pcapng');
  afterAll(() => rmSync(home, { recursive: true, force: true }));
  let frames = 0;
  /** By frame number, in the order of the file. */
  let truth: Map<number, string[]>;

  beforeAll(async () => {
    const plugins = join(home, '.local/lib/wireshark/plugins');
    mkdirSync(plugins, { recursive: true });
    cpSync(LUA_SCRIPT, join(plugins, 'rocev2.lua'));
    const capture = await play({ vantages: ['B'] }, async (stage) => {
      const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 12 });
      const match = ({ flags }: { readonly flags: number }) => (flags & OpFlag.Middle) !== 0;
      for (const nth of [5, 30]) stage.rule({ port: 'A', match, nth, action: 'drop' });
      for (let i = 0; i < 3; i++) await a.write(b, 20_000);
    });
    writeFileSync(file, capture);
    frames = packetsOf(capture).length;
    const rows = await luaRows(file, ['frame.number', 'rocev2.analysis']);
    truth = new Map(rows.map(([number, names = []]) => [Number(number?.[0]), names]));
  });

  /** Marks of the frames, asked for in this order. */
  function asked(order: readonly number[]): (readonly [number, string[]])[] {
    const requests = [
      { jsonrpc: '2.0', id: order.length + 2, method: 'load', params: { file } },
      ...order.map((frame, i) => ({ jsonrpc: '2.0', id: i + 1, method: 'frame', params: { frame, proto: true } })),
      { jsonrpc: '2.0', id: order.length + 1, method: 'bye' },
    ];
    const input = requests.map((request) => `${JSON.stringify(request)}\n`).join('');
    const { stdout } = spawnSync('sharkd', ['-'], {
      input,
      encoding: 'utf8',
      maxBuffer: 1 << 26,
      env: { ...process.env, HOME: home },
    });
    const answers = stdout.split('\n').filter((line) => line.includes('"tree"'));
    expect(answers).toHaveLength(order.length);
    return answers.map((answer, i) => {
      const marks = [...answer.matchAll(/"l":"Analysis: (\w+)"/g)].map(([, mark]) => mark ?? '');
      return [order[i] ?? 0, marks] as const;
    });
  }

  it('all marks are there when they are shown from the first to the last', () => {
    const order = Array.from({ length: frames }, (_, i) => i + 1);
    expect(new Map(asked(order))).toEqual(truth);
    expect([...truth.values()].flat().length).toBeGreaterThan(10);
  });

  it('there are no others when they are shown in leaps', () => {
    const order = Array.from({ length: frames }, (_, i) => 1 + ((i * 37) % frames));
    const wrong = asked(order).filter(([number, marks]) => marks.some((mark) => !truth.get(number)?.includes(mark)));
    expect(wrong).toEqual([]);
  });
});
