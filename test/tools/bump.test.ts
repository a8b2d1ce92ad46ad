/**
 * Goal: the command does what its rules, files and flags say, ends in good order, and says what is wrong where.
 * Method: the command in a process of its own between two devices of ours; its readers of text and files directly.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IpAddress, type OpenDevice, openDevice } from '../../src/index.ts';
import type { BumpAccount } from '../../tools/bump/account.ts';
import { chanceFaults } from '../../tools/bump/chance-options.ts';
import { bumpCommand } from '../../tools/bump/main.ts';
import { readRulesFile } from '../../tools/bump/rules-file.ts';
import { parseShortRule } from '../../tools/bump/short-rule.ts';
import { runProgram } from '../../tools/program.ts';
import { runRpingClient } from '../../tools/rping/client.ts';
import { runRpingServer } from '../../tools/rping/server.ts';
import { brief, bumpPackets, framesMatching } from '../support/bump-packets.ts';
import { describeWith } from '../support/need.ts';
import { startRoce } from './roce/run-roce.ts';

let directory = '';

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'rocev2-bump-command-'));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

const file = (name: string): string => join(directory, name);

function ruleFile(content: unknown): string {
  const path = file('rules.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const readAccount = (path: string): BumpAccount => JSON.parse(readFileSync(path, 'utf8'));

const LINKS = (): string[] => ['--a', `qemu:${file('a')}`, '--b', `qemu:${file('b')}`];

/** Runs a command line that fails; what it says on standard error. */
async function complain(args: readonly string[]): Promise<{ code: number | undefined; words: string }> {
  const said: string[] = [];
  const code = await runProgram(args, { out: () => {}, err: (text) => void said.push(text) });
  return { code, words: said.join('') };
}

/** One rping of 3000 bytes between two devices on the two sides; the number of pings seen. */
async function ping(trafficClass = 0): Promise<number> {
  const open = (id: 1 | 2): Promise<OpenDevice> =>
    openDevice({
      link: `qemu:${file(id === 1 ? 'a' : 'b')},connect`,
      addresses: [`10.0.0.${id}/24`],
      path: { trafficClass },
    });
  const [left, right] = [await open(1), await open(2)];
  const lines: string[] = [];
  const output = { line: (text: string) => void lines.push(text), complaint: (text: string) => void lines.push(text) };
  const options = { port: 7174, count: 1, size: 3000, verbose: true, validate: true } as const;
  const served = runRpingServer(right.device, options, { line: () => {}, complaint: () => {} });
  await runRpingClient(left.device, { address: IpAddress.parse('10.0.0.2'), ...options }, output);
  await served;
  await Promise.all([left.close(), right.close()]);
  return lines.filter((line) => line.includes('rdma-ping-')).length;
}

describeWith('tshark', 'roce bump', () => {
  it('does what a file and the command line say, and writes capture and account when it is interrupted', async () => {
    const rules = ruleFile({
      rules: [{ name: 'hole', on: { opcode: 'read-response', psn: 1, iteration: 1 }, do: 'drop' }],
      seed: 5,
    });
    const short = 'duplicate,opcode=RC SEND Only,times=1,name=twice';
    const outputs = ['--write', file('x.pcapng'), '--account', file('x.json')];
    const command = startRoce([
      'bump',
      ...LINKS(),
      '--rules',
      rules,
      '--rule',
      short,
      '--delay',
      'b-to-a=0.5',
      ...outputs,
    ]);
    await command.shows('forwarding between');
    expect(await ping()).toBe(1);
    command.interrupt();
    const { code, stdout } = await command.ended;
    expect(code).toBe(130);
    expect(stdout).toMatch(/hole: matched 1, applied to 1\n/);
    const account = readAccount(file('x.json'));
    expect(account).toMatchObject({
      seed: 5,
      faults: { aToB: {}, bToA: { delayNs: 500_000 } },
      connections: [{ learnt: 'cm' }],
    });
    expect(account.rules.map(({ name, applied }) => [name, applied])).toEqual([
      ['hole', 1],
      ['twice', 1],
    ]);
    const packets = await bumpPackets(file('x.pcapng'), account);
    const hole = account.events.find(({ rules: [name] }) => name === 'hole');
    expect(packets.filter(({ frame }) => frame === hole?.in).map(brief)).toEqual(['READ response Middle 1']);
    const touched = account.events.flatMap((event) => [event.in ?? 0, ...(event.out ?? [])]);
    expect(await framesMatching(file('x.pcapng'), 'frame.comment')).toEqual(touched.toSorted((x, y) => x - y));
  });

  it('marks by a queue and notifies, and says how much of it', async () => {
    const command = startRoce([
      'bump',
      ...LINKS(),
      ...[
        '--rate',
        'b-to-a=2e7',
        '--red',
        'b-to-a=0,0,1',
        '--notify',
        '--notify-interval',
        '1',
        '--account',
        file('n.json'),
      ],
    ]);
    await command.shows('forwarding between');
    expect(await ping(2)).toBe(1);
    command.interrupt();
    const { stdout } = await command.ended;
    const account = readAccount(file('n.json'));
    const { marked, notified, peakQueueBytes } = account.directions['b-to-a'];
    expect(account.notifications?.['b-to-a']).toMatchObject({ marked, cnpSent: notified });
    expect(marked).toBeGreaterThan(0);
    expect(stdout).toContain(`b-to-a: ${notified} CNPs sent back for ${marked} marked packets`);
    expect(stdout).toMatch(/b-to-a: [\d,]+ bytes at most waited for the rate/);
    expect(peakQueueBytes).toBeGreaterThan(0);
  });

  it('ends by itself after --duration, with exit code 0', async () => {
    const command = startRoce(['bump', ...LINKS(), '--duration', '1', '--account', file('y.json')]);
    const { code, stdout } = await command.ended;
    expect([code, stdout.split('\n')[0]?.trim().split(/ +/)[0]]).toEqual([0, 'frames']);
    expect(readAccount(file('y.json')).events).toEqual([]);
  });

  it.each([
    [['--rule', 'drop,psn=x'], 'rule "drop,psn=x": on.psn: a whole number in range is expected, or [first, last]'],
    [['--rule', 'drop,opcode=foo'], 'on.opcode is "foo"'],
    [['--loss', '2'], 'a number from 0 to 1, or percent such as 1%, is expected'],
    [['--loss', '101%'], 'a number from 0 to 1, or percent such as 1%, is expected'],
    [['--delay', '1%'], 'a number from 0 to 60000 is expected'],
    [['--red', '5000,200000'], 'KMIN,KMAX,PMAX is expected'],
    [['--red', '5,4,0.1'], 'KMIN,KMAX,PMAX is expected'],
    [['--red', 'a-to-b=5,6,1.1'], 'KMIN,KMAX,PMAX is expected'],
    [['--red', '5,6,0.1'], 'ecn needs a rateBps'],
    [['--notify-dscp', '64'], 'a whole number from 0 to 63'],
    [['--rules', '/nonexistent.json'], '/nonexistent.json: ENOENT'],
    [['--a', 'nonsense:1'], 'unknown kind of link'],
  ])('says what is wrong with %j in one line, exit code 2', async (args, message) => {
    const { code, words } = await complain(['bump', ...LINKS(), ...args]);
    expect([code, words]).toEqual([2, expect.stringContaining(message)]);
    expect(words.trimEnd()).not.toContain('\n');
  });

  it('says that a link cannot be had in one line, exit code 1', async () => {
    const { code, words } = await complain(['bump', '--a', `qemu:${file('c')}`, '--b', 'qemu:/nonexistent/b']);
    expect(code).toBe(1);
    expect(words).toContain('/nonexistent/b');
  });
});

describe('a rule on the command line', () => {
  it('is the JSON form in short', () => {
    expect(parseShortRule('drop,opcode=write,psn=2,iteration=1')).toEqual({
      do: 'drop',
      on: { opcode: ['write'], psn: 2, iteration: 1 },
    });
    const long =
      'rewrite,name=x,opcode=RC RDMA WRITE Middle|nak,direction=a-to-b,qpn=0x12,nth=2..5,set.bth.psn=7,fixIcrc=false';
    expect(parseShortRule(long)).toEqual({
      name: 'x',
      do: 'rewrite',
      on: { opcode: ['RC RDMA WRITE Middle', 'nak'], direction: 'a-to-b', qpn: 0x12, nth: [2, 5] },
      set: { 'bth.psn': 7 },
      fixIcrc: false,
    });
    expect(parseShortRule('delay,delayNs=2e6,probability=0.5')).toEqual({
      do: 'delay',
      delayNs: 2_000_000,
      on: { probability: 0.5 },
    });
  });

  it.each([
    ['drop,psn', '"psn" has no value'],
    ['drop,colour=red', 'on: Unrecognized key: "colour"'],
    ['delay', "delayNs is missing: 'delay' needs it"],
  ])('is refused when it makes no sense: %s', (text, message) => {
    expect(() => parseShortRule(text)).toThrow(message);
  });
});

describe('a file of rules', () => {
  it('is an object with rules, faults and seed, or a bare list of rules', () => {
    const rules = [{ on: {}, do: 'drop' }];
    expect(readRulesFile(ruleFile(rules))).toEqual({ rules });
    const notify = { minTimeBetweenCnpsNs: 4000, cnpDscp: 46, becn: 0 } as const;
    const whole = {
      rules,
      notify,
      faults: { bToA: { loss: 0.1, ecn: { kminBytes: 1, kmaxBytes: 2, pmax: 1 } } },
      seed: 3,
    };
    expect(readRulesFile(ruleFile(whole))).toEqual(whole);
  });

  it.each([
    [[{ on: { psn: 'x' }, do: 'drop' }], 'rules[0].on.psn: a whole number in range is expected'],
    [{ rules: [{ on: {}, do: 'drop' }, { do: 'drop' }] }, 'rules[1].on: '],
    [{ faults: { aToB: { loss: 3 } } }, 'faults.aToB.loss: '],
    [{ notify: { becn: 2 } }, 'notify: true, false or an object'],
    [{ rulez: [] }, 'the whole: Unrecognized key: "rulez"'],
    [[{ on: { opcode: 'wrote' }, do: 'drop' }], 'rule 1: on.opcode is "wrote"'],
    ['{', 'rules.json: '],
  ])('is refused with its name and the place in it: %j', (content, message) => {
    expect(() => readRulesFile(ruleFile(content))).toThrow(message);
    expect(() => readRulesFile(ruleFile(content))).toThrow(/rules\.json: /);
  });
});

describe('faults by chance', () => {
  it('are for both directions or one, in units that people type, and take the place of those of the file', async () => {
    const command = bumpCommand();
    const flags = ['--loss', '0.1', '--loss', 'b-to-a=50%', '--delay', '2', '--rate', 'a-to-b=1e9', '--reorder', '0.2'];
    flags.push('--queue', 'a-to-b=500000', '--red', '1,2,1', '--red', 'a-to-b=5000,200000,0.01');
    command.parseOptions([...LINKS(), ...flags]);
    expect(chanceFaults(command.opts(), { aToB: { loss: 0.9, ceMark: 1 } })).toEqual({
      aToB: {
        loss: 0.1,
        ceMark: 1,
        delayNs: 2_000_000,
        rateBps: 1e9,
        queueBytes: 500_000,
        reorder: 0.2,
        reorderDelayNs: 1_000_000,
        ecn: { kminBytes: 5000, kmaxBytes: 200_000, pmax: 0.01 },
      },
      bToA: {
        loss: 0.5,
        delayNs: 2_000_000,
        reorder: 0.2,
        reorderDelayNs: 1_000_000,
        ecn: { kminBytes: 1, kmaxBytes: 2, pmax: 1 },
      },
    });
  });
});
