/**
 * Goal: our rstream and riostream say and do what those of rdmacm-utils do, in both roles.
 * Method: both roles on two devices in the simulated world, with its clock; what they print is compared.
 */
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { type Device, IpAddress, type World, type WorldOptions } from '../../../src/index.ts';
import { STREAM_HEADING } from '../../../tools/rsockets/report.ts';
import { runRiostream } from '../../../tools/rsockets/riostream.ts';
import { rstreamOptions, runRstream } from '../../../tools/rsockets/rstream.ts';
import { type StreamFlags, type StreamOptions, streamOptions } from '../../../tools/rsockets/stream-flags.ts';
import { addDevice, makeWorld, Transcript } from '../rping/support.ts';

type Run = (options: StreamOptions, context: Parameters<typeof runRstream>[1]) => Promise<number>;

interface Result {
  readonly codes: readonly number[];
  readonly server: Transcript;
  readonly client: Transcript;
}

/** The options of a command line. */
function parsed(line: string): StreamOptions {
  const command = rstreamOptions(new Command('rstream').exitOverride().configureOutput({ writeErr: () => {} }));
  command.parse(
    line.split(' ').filter((word) => word !== ''),
    { from: 'user' },
  );
  return streamOptions(command.opts<StreamFlags & Record<string, unknown>>());
}

interface RunOptions extends Partial<WorldOptions> {
  readonly server?: string;
}

async function stream(
  run: Run,
  line: string,
  { server: serverLine = line, ...options }: RunOptions = {},
): Promise<Result> {
  const world = makeWorld(options);
  const devices = [addDevice(world, 1), addDevice(world, 2)] as const;
  const server = new Transcript();
  const client = new Transcript();
  const context = (device: Device, output: Transcript) => ({
    device,
    output,
    now: () => now(world),
    turn: async () => {},
  });
  const codes = await world.run(
    Promise.all([
      run(parsed(serverLine), context(devices[0], server)),
      run(parsed(`-s 10.0.0.1 ${line}`), context(devices[1], client)),
    ]),
  );
  return { codes, server, client };
}

function now(world: World): number {
  return world.now / 1000;
}

const firstColumns = ({ lines }: Transcript): string[] => lines.map((line) => line.split(/\s+/).slice(0, 5).join(' '));

describe.each<[string, Run]>([
  ['rstream', runRstream],
  ['riostream', runRiostream],
])('%s', (_, run) => {
  it('runs a test of its own choice and prints it on both sides', async () => {
    const { codes, server, client } = await stream(run, '-S 3000 -C 7 -I 3 -T v');
    expect(codes).toEqual([0, 0]);
    for (const transcript of [server, client]) {
      expect(transcript.lines[0]).toBe(STREAM_HEADING);
      expect(transcript.lines[1]).toMatch(
        /^custom {4}2\.9k {4}7 {7}3 {7}123k {8}0\.00s {5,6}\d+\.\d\d {6,8}\d+\.\d\d$/,
      );
      expect(transcript.lines).toHaveLength(2);
    }
  });

  it('climbs the ladder on two connections', async () => {
    const { codes, server, client } = await stream(run, '--limit 3 -T verify -B 8192');
    expect(codes).toEqual([0, 0]);
    expect(firstColumns(client)).toEqual(firstColumns(server));
    expect(firstColumns(client).slice(1)).toEqual([
      '64_lat 64 1 3 384',
      '4k_lat 4k 1 3 24k',
      '64k_lat 64k 1 3 384k',
      '1m_lat 1m 1 3 6m',
      '64_bw 64 3 1 384',
      '4k_bw 4k 3 1 24k',
      '64k_bw 64k 3 1 384k',
      '1m_bw 1m 3 1 6m',
    ]);
  });

  it('loses nothing on a wire with faults', async () => {
    const faults = { loss: 0.02, duplicate: 0.02, reorder: 0.02, corrupt: 0.02 };
    const { codes, client } = await stream(run, '-S 20000 -C 3 -I 4 -T v', { faults });
    expect([codes, client.complaints]).toEqual([[0, 0], []]);
  });
});

describe('rstream', () => {
  it('says that it shows signs of life, for every time the option is set', async () => {
    const { server, client } = await stream(runRstream, '-S 64 -C 1 -k 5');
    const told = ['Keepalive: ON', '  time: 5'];
    expect(client.lines.slice(1, -1)).toEqual(told);
    expect(server.lines.slice(1, -1)).toEqual([...told, ...told]);
  });

  it('tells of a byte that is not what it should be, and ends with 255', async () => {
    const { codes, server } = await stream(runRstream, '-S 64 -C 1', { server: '-S 64 -C 1 -T v' });
    expect([codes[0], server.lines[1]]).toEqual([255, 'data verification failed byte 1']);
  });

  it('takes connections on the address it is bound to', async () => {
    const { codes } = await stream(runRstream, '-S 64 -C 1', { server: '-b 10.0.0.1 -S 64 -C 1' });
    expect(codes).toEqual([0, 0]);
    await expect(stream(runRstream, '-S 64 -C 1', { server: '-b 10.0.0.7 -S 64' })).rejects.toThrow('not an address');
  });

  it.each([
    ['-T s', 'sockets of the kernel'],
    ['-T x', 'a test option is one of'],
    ['-f gid', 'only ip and ipv6'],
    ['-S 0', 'whole number'],
  ])('refuses %s with a sentence', (line, words) => {
    expect(() => parsed(line)).toThrow(words);
  });

  it('means what rstream means by its flags', () => {
    expect(parsed('-b fd00::1 -f ipv6 -i 100 -S all -T a -T nonblock -p 1234 -k 2')).toEqual({
      server: undefined,
      bind: IpAddress.parse('fd00::1'),
      port: 1234,
      custom: undefined,
      allSizes: true,
      limit: Number.POSITIVE_INFINITY,
      buffers: { sendBuffer: 1 << 20, receiveBuffer: 1 << 20 },
      inline: 100,
      verify: false,
      keepalive: 2,
    });
    expect(parsed('-I 2').custom).toEqual({ size: 1000, transfers: 1000, iterations: 2 });
    expect(parsed('-B 1024').buffers).toEqual({ sendBuffer: 2048, receiveBuffer: 2048 });
  });
});
