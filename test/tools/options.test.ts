/**
 * Goal: what is typed about neighbours, VLAN and headers reaches the device that a command opens.
 * Method: `roce devinfo -v` as a process, on a wire that nobody is at the other end of.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRoce } from './roce/run-roce.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'rocev2-options-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function devinfo(name: string, ...options: readonly string[]): Promise<string> {
  const link = `qemu:${join(directory, name)}`;
  const { code, stdout, stderr } = await startRoce(['devinfo', '-v', '--link', link, '--ip', '10.0.0.1/24', ...options])
    .ended;
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

describe('the options of a device', () => {
  it('give it a VLAN, a hop limit, a flow label in hexadecimal and a source port', async () => {
    const text = await devinfo(
      'a',
      ...['--vlan', '5:3', '--hop-limit', '2', '--flow-label', '0xabcde', '--source-port', '50000'],
      ...['--neighbour', '10.0.0.2=02:00:00:00:00:02', '--neighbour', '10.0.0.3=02:00:00:00:00:03'],
    );
    for (const line of [
      /vlan:\t+5 \(priority 3\)$/m,
      /hop_limit:\t+2$/m,
      /flow_label:\t+0xabcde$/m,
      /udp_sport:\t+50000$/m,
    ])
      expect(text).toMatch(line);
    expect(text).not.toMatch(/traffic_class/);
  });

  it.each([
    [['--dscp', '26'], '0x68 (DSCP 26, ECN 0)'],
    [['--ecn', '2'], '0x02 (DSCP 0, ECN 2)'],
    [['--dscp', '26', '--ecn', '1'], '0x69 (DSCP 26, ECN 1)'],
    [['--traffic-class', '106'], '0x6a (DSCP 26, ECN 2)'],
    [['--cc', 'paper'], '0x6a (DSCP 26, ECN 2)'],
    [['--cc', 'fixed:500m', '--dscp', '3'], '0x0e (DSCP 3, ECN 2)'],
    [['--cc', 'mlx', '--cc-set', 'rpgThreshold=5', '--line-rate', '25g', '--ecn', '1'], '0x01 (DSCP 0, ECN 1)'],
  ])('give it with %j a traffic class', async (options, expected) => {
    expect(await devinfo(options.join(''), ...options)).toContain(`traffic_class:\t\t${expected}\n`);
  });

  it.each([
    [['--cc', 'prayer'], 'none, paper, mlx or fixed:RATE is expected'],
    [['--cc', 'fixed:0'], 'bits a second are expected, such as 500m or 10g'],
    [['--cc', 'paper', '--cc-set', 'g=3'], "g of DCQCN's paper profile is a number"],
    [['--cc', 'none', '--cc-set', 'g=1'], '--cc-set is for --cc paper and --cc mlx'],
    [['--cnp-interval', '5'], '--line-rate, --cc-set and --cnp-interval need --cc'],
  ])('refuse %j in one line', async (options, why) => {
    const link = `qemu:${join(directory, 'd')}`;
    const { code, stderr } = await startRoce(['devinfo', '--link', link, '--ip', '10.0.0.1/24', ...options]).ended;
    expect([code, stderr.trimEnd().split('\n').length]).toEqual([2, 1]);
    expect(stderr).toContain(why);
  });

  it('change nothing when there are none', async () => {
    expect(await devinfo('b')).not.toMatch(/vlan|traffic_class|hop_limit|flow_label|udp_sport/);
  });

  it('name the neighbour that can be none', async () => {
    const options = ['devinfo', '--link', `qemu:${join(directory, 'c')}`, '--ip', '10.0.0.1/24'];
    const ended = await startRoce([...options, '--neighbour', '10.0.0.1=02:00:00:00:00:02']).ended;
    expect(ended).toMatchObject({ code: 1, stderr: "roce devinfo: 10.0.0.1 cannot be a neighbour's address\n" });
  });
});
