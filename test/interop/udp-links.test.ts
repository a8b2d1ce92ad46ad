/**
 * Goal: an unmodified rping on a real rdma_rxe talks to this stack over `udp-offload`, in both roles and without
 * privileges on our side; over `udp6` it does not, for the reason that the link gives: rxe's UDP checksum of 0, which
 * the kernel drops and counts. Method: a guest on a TAP interface in a namespace, our device on the kernel's own
 * address there; a client of ours run by nobody.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IpAddress, type OpenDevice, openDevice } from '../../src/index.ts';
import { rpingFault } from '../../tools/interop/stock-rping.ts';
import { Guest, type GuestJob } from '../../tools/lab/guest.ts';
import { buildImage } from '../../tools/lab/image.ts';
import { addQuietNetns, ip, type Netns } from '../../tools/netns.ts';
import type { ToolOutput } from '../../tools/output.ts';
import { runRpingClient } from '../../tools/rping/client.ts';
import { RPING_PORT } from '../../tools/rping/protocol.ts';
import { runRpingServer } from '../../tools/rping/server.ts';
import { describeWith } from '../support/need.ts';
import { within } from '../support/netns.ts';

const GUEST = 'fd77::2';
const OURS = 'fd77::1';
const TAP = 'guest0';
const NAMESPACE = `rocev2-udp-${process.pid}`;
const PINGS = 3;
const RPING = { port: RPING_PORT, count: PINGS, size: 3000, verbose: true } as const;
const SIZES = `-C ${PINGS} -S ${RPING.size} -v -V`;
const COMMAND_TIMEOUT_MS = 60_000;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describeWith('lab', 'rping over UDP sockets', () => {
  describeWith('netns', 'of this machine', () => {
    let booted: Guest | undefined;
    const exec = (...command: readonly string[]): string => ip('netns', 'exec', NAMESPACE, ...command);
    const prefix = ['ip', 'netns', 'exec', NAMESPACE];
    const there: Netns = { name: NAMESPACE, device: TAP, mac: '', ipv4: '', ipv6: `${OURS}/64`, prefix, exec };
    const open = (kind: string): Promise<OpenDevice> => within(there, () => openDevice({ link: `${kind}:[${OURS}]` }));

    beforeAll(async () => {
      const image = await buildImage('6.12');
      addQuietNetns(NAMESPACE);
      exec('ip', 'tuntap', 'add', 'dev', TAP, 'mode', 'tap');
      exec('ip', 'address', 'add', there.ipv6, 'dev', TAP, 'nodad');
      exec('ip', 'link', 'set', TAP, 'up');
      booted = await within(there, () => Guest.boot({ image, tap: TAP, addresses: [`${GUEST}/64`] }));
    });

    afterAll(async () => {
      await booted?.stop();
      ip('netns', 'del', NAMESPACE);
    });

    const guest = (): Guest => {
      if (booted === undefined) throw new Error('the guest has not booted');
      return booted;
    };

    describe('udp-offload', () => {
      it('the guest connects to us', async () => {
        const { device, close } = await open('udp-offload');
        const lines: string[] = [];
        const serving = runRpingServer(device, RPING, into(lines));
        const run = guest().run(`rping -c -a ${OURS} ${SIZES}`, { timeoutMs: COMMAND_TIMEOUT_MS });
        const [result, code] = await Promise.all([run, serving]);
        await close();
        expect([rpingFault(result, PINGS), code, pingsIn(lines)]).toEqual(['', 0, PINGS]);
      });

      it('we connect to the guest', async () => {
        const { device, close } = await open('udp-offload');
        await withServer(guest(), async (server) => {
          const lines: string[] = [];
          const address = IpAddress.parse(GUEST);
          const code = await runRpingClient(device, { address, ...RPING, validate: true }, into(lines));
          const result = await server.wait(COMMAND_TIMEOUT_MS);
          expect([rpingFault(result, PINGS), code, pingsIn(lines)]).toEqual(['', 0, PINGS]);
        });
        await close();
      });

      it('so does an ordinary user, with the roce command', async () => {
        await withServer(guest(), async (server) => {
          const nobody = [
            'setpriv',
            '--reuid=65534',
            '--regid=65534',
            '--clear-groups',
            '--inh-caps=-all',
            '--bounding-set=-all',
          ];
          const roce = [process.execPath, '--import', 'tsx', 'tools/roce.ts', 'rping', '-c', '-a', GUEST, '-v', '-V'];
          const amount = ['-C', String(PINGS), '-S', String(RPING.size), '--link', `udp-offload:[${OURS}]`];
          const output = await run([...prefix, ...nobody, ...roce, ...amount]);
          expect(pingsIn(output.split('\n'))).toBe(PINGS);
          expect(rpingFault(await server.wait(COMMAND_TIMEOUT_MS), PINGS)).toBe('');
        });
      });
    });

    describe('udp6', () => {
      const dropped = (): number => Number(/Udp6InCsumErrors\s+(\d+)/.exec(exec('cat', '/proc/net/snmp6'))?.[1]);
      const dropsMore = async (before: number): Promise<void> => {
        while (dropped() === before) expect((await guest().run('true')).code).toBe(0);
      };

      it('does not hear the guest that connects: the kernel drops what has no checksum', async () => {
        const { device, close } = await open('udp6');
        const before = dropped();
        const job = guest().spawn(`rping -c -a ${OURS} ${SIZES}`);
        await dropsMore(before);
        expect(device.counters.receivedFrames).toBe(0);
        await job.kill('KILL');
        await close();
      });

      it('is heard by the guest it connects to, and does not hear the answer', async () => {
        const { device, close } = await open('udp6');
        const heard = async (): Promise<number> => Number((await guest().run(`cat ${RECEIVED_PACKETS}`)).stdout);
        const [packets, before] = [await heard(), dropped()];
        await withServer(guest(), async () => {
          const abort = new AbortController();
          const address = IpAddress.parse(GUEST);
          const running = runRpingClient(device, { address, ...RPING, signal: abort.signal }, into([]));
          running.catch(() => {});
          await dropsMore(before);
          expect(await heard()).toBeGreaterThan(packets);
          expect(device.counters.receivedFrames).toBe(0);
          abort.abort();
          await expect(running).rejects.toMatchObject({ code: 'ERR_ROCE_CLOSED' });
        });
        await close();
      });
    });
  });
});

/** An rping in the guest that listens, for the time of `body`. */
async function withServer(guest: Guest, body: (server: GuestJob) => Promise<void>): Promise<void> {
  const server = guest.spawn(`rping -s -a ${GUEST} ${SIZES}`);
  try {
    const listens = `for i in $(seq 100); do rdma resource show cm_id | grep LISTEN | grep -q ':${RPING_PORT}' && exit 0; sleep 0.1; done; exit 1`;
    expect((await guest.run(listens)).code).toBe(0);
    await body(server);
  } finally {
    await server.kill('KILL');
  }
}

/** Runs a program to its end; what it prints. */
function run(command: readonly string[]): Promise<string> {
  const [program = '', ...words] = command;
  return new Promise((resolve, reject) => {
    execFile(program, words, { cwd: ROOT, timeout: COMMAND_TIMEOUT_MS }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${error.message}\n${stdout}${stderr}`));
    });
  });
}

function pingsIn(lines: readonly string[]): number {
  return lines.filter((line) => line.includes('ping data: rdma-ping-')).length;
}

function into(lines: string[]): ToolOutput {
  return { line: (text) => void lines.push(text), complaint: (text) => void lines.push(text) };
}

const RECEIVED_PACKETS = '/sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts';
