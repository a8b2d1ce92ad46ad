/**
 * Goal: the command line is told apart from the world: one line and exit code 2 for what makes no sense, one line and
 * exit code 1 for what cannot be had, and help for everything.
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { runProgram, SUBCOMMANDS } from '../../../tools/program.ts';
import { type Ended, startRoce } from './run-roce.ts';

async function runRoce(...args: readonly string[]): Promise<Ended> {
  let stdout = '';
  let stderr = '';
  const code = await runProgram(args, {
    out: (text) => {
      stdout += text;
    },
    err: (text) => {
      stderr += text;
    },
  });
  return { code: code ?? 0, stdout, stderr };
}

const WIRE = ['--link', 'qemu:/nonexistent/socket,connect', '--ip', '10.0.0.1/24'];

describe('the help of roce', () => {
  it('lists every command', async () => {
    const { code, stdout } = await runRoce('--help');
    expect(code).toBe(0);
    for (const name of ['demo', 'rping', 'dump', 'lab', 'devinfo', 'links'])
      expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
  });

  it.each(SUBCOMMANDS.map(({ name }) => name))('describes %s in the words of the command itself', async (name) => {
    const subcommand = SUBCOMMANDS.find((candidate) => candidate.name === name);
    expect((await subcommand?.load())?.description()).toBe(subcommand?.description);
  });

  it.each([
    ['rping', '--help'],
    ['help', 'rping'],
  ])('explains a command (roce %s %s)', async (...args) => {
    const { code, stdout } = await runRoce(...args);
    expect(code).toBe(0);
    expect(stdout).toContain('Usage: roce rping [options]');
    for (const option of ['--link', '--ip', '--write', '-C <count>', 'roce help links'])
      expect(stdout).toContain(option);
  });

  it('has the options of a link once, for all commands that open one', async () => {
    const { stdout } = await runRoce('help', 'links');
    const options = [...stdout.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, option]) => option ?? '');
    expect(options.length).toBeGreaterThan(18);
    for (const option of ['--link', '--ip', '--mac', '--vlan', '--traffic-class', '--cc', '--trace', '--worker'])
      expect(options).toContain(option);
    const kept = ['--link', '--ip', '--write'];
    for (const command of ['rping', 'dump', 'run', 'uverbs', 'devinfo', 'rcopy']) {
      const help = (await runRoce(command, '--help')).stdout;
      const repeated = options.filter((option) => new RegExp(`^ {2}(?:-\\w, )?${option}\\b`, 'm').test(help));
      expect(
        repeated.filter((option) => option !== '--json'),
        command,
      ).toEqual(kept);
      expect(help, command).toContain('roce help links');
    }
  });

  it('tells the version of the package', async () => {
    const description: unknown = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8'));
    expect(description).toMatchObject({ version: (await runRoce('--version')).stdout.trim() });
  });
});

describe('a command line that makes no sense is one line and exit code 2', () => {
  it.each([
    [[], 'roce: a command is missing; roce --help lists them'],
    [['nonsense', '--foo'], "roce: unknown command 'nonsense'; roce --help lists them"],
    [['analize', 'x.pcap'], "roce: unknown command 'analize'; did you mean analyze?"],
    [['--nonsense'], "roce: unknown option '--nonsense'"],
    [['--verison'], "roce: unknown option '--verison'; did you mean --version?"],
    [['rping', ...WIRE, '--traec', 'x'], "roce rping: unknown option '--traec'; did you mean --trace?"],
    [['rping', ...WIRE, '--nonsense'], "roce rping: unknown option '--nonsense'"],
    [['rping', '-s'], "roce rping: required option '--link <link>' not specified"],
    [['rping', '-s', '--link', 'qemu:/x'], 'roce rping: qemu:/x has no addresses of its own: --ip is required'],
    [['rping', ...WIRE], 'roce rping: choose one of -s (server) and -c (client)'],
    [['rping', '-s', '-c', ...WIRE], "roce rping: option '-s' cannot be used with option '-c'"],
    [['rping', '-c', ...WIRE], 'roce rping: the client needs -a, the address of the server'],
    [['rping', '-c', '-P', '-a', '10.0.0.2', ...WIRE], 'roce rping: -P is for the server'],
    [['rping', '-s', '-I', '10.0.0.2', ...WIRE], 'roce rping: -I is for the client'],
    [
      ['rping', '-s', '-S', '25', ...WIRE],
      "roce rping: option '-S <bytes>' argument '25' is invalid. a whole number from 26 to 65535 is expected",
    ],
    [
      ['rping', '-s', '-p', '65536', ...WIRE],
      "roce rping: option '-p <port>' argument '65536' is invalid. a whole number from 0 to 65535 is expected",
    ],
    [
      ['devinfo', '--link', 'qemu:/x', '--ip', '10.0.0.1'],
      "roce devinfo: option '--ip <address/prefix>' argument '10.0.0.1' is invalid. not an address with a prefix length: \"10.0.0.1\"",
    ],
    [
      ['devinfo', ...WIRE, '--mac', '1:2'],
      "roce devinfo: option '--mac <address>' argument '1:2' is invalid. not a MAC address: \"1:2\"",
    ],
    [
      ['devinfo', ...WIRE, '--vlan', '5:8'],
      "roce devinfo: option '--vlan <id[:priority]>' argument '5:8' is invalid. a whole number from 0 to 7 is expected",
    ],
    [
      ['devinfo', ...WIRE, '--neighbour', '10.0.0.2'],
      "roce devinfo: option '--neighbour <address=mac>' argument '10.0.0.2' is invalid. an address, an equals sign and a MAC address are expected",
    ],
    [
      ['devinfo', ...WIRE, '--ecn', '3'],
      "roce devinfo: option '--ecn <number>' argument '3' is invalid. a whole number from 0 to 2 is expected",
    ],
    [
      ['devinfo', ...WIRE, '--traffic-class', '2', '--ecn', '2'],
      "roce devinfo: option '--traffic-class <number>' cannot be used with option '--ecn <number>'",
    ],
    [
      ['rping', '-c', '-a', 'fe80::1%eth0', ...WIRE],
      expect.stringMatching(/"fe80::1%eth0": an address on the wire has no zone/),
    ],
    [
      ['devinfo', '--link', 'carrier-pigeon:1', '--ip', '10.0.0.1/24'],
      expect.stringMatching(/^roce devinfo: .*carrier-pigeon.*unknown kind/),
    ],
  ])('roce %j', async (args, line) => {
    expect(await runRoce(...args)).toEqual({
      code: 2,
      stdout: '',
      stderr: typeof line === 'string' ? `${line}\n` : line,
    });
  });
});

describe('what the world refuses is one line and exit code 1', () => {
  it('says which link is not to be had', async () => {
    const { code, stdout, stderr } = await runRoce('devinfo', ...WIRE);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^roce devinfo: qemu:\/nonexistent\/socket,connect: .*\n$/);
  });

  it('says that a capture file cannot be written', async () => {
    const { code, stderr } = await runRoce('devinfo', ...WIRE, '--write', '/nonexistent/capture.pcapng');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^roce devinfo: .*\/nonexistent\/capture\.pcapng.*\n$/);
  });
});

describe('the roce command as a process', () => {
  it('exits with the codes and prints to the streams that the conventions name', async () => {
    const [help, bad, refused] = await Promise.all([
      startRoce(['--help']).ended,
      startRoce(['rping']).ended,
      startRoce(['devinfo', ...WIRE]).ended,
    ]);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toMatch(/^Usage: roce /);
    expect(bad).toEqual({ code: 2, stdout: '', stderr: "roce rping: required option '--link <link>' not specified\n" });
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^roce devinfo: .*\n$/);
  });
});
