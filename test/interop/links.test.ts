/**
 * Goal: an unmodified rping on a real rdma_rxe talks to this stack over every kind of link, in both roles.
 * Method: one guest on a TAP interface in a namespace of its own, and our device beside the kernel on that interface,
 * on it, or on another one bridged with it; one more guest for the link that is QEMU's own. Every frame is captured and
 * read back, with tshark as well.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IpAddress, Medium, type OpenDevice, openDevice } from '../../src/index.ts';
import { CaptureFile } from '../../tools/capture-file.ts';
import { SLOW_HOST_WARNINGS } from '../../tools/experiment/findings.ts';
import { rpingFault } from '../../tools/interop/stock-rping.ts';
import { verifyCapture } from '../../tools/interop/verify.ts';
import { Guest, type RunResult } from '../../tools/lab/guest.ts';
import { buildImage } from '../../tools/lab/image.ts';
import { addQuietNetns, ip, type Netns } from '../../tools/netns.ts';
import type { ToolOutput } from '../../tools/output.ts';
import { runRpingClient } from '../../tools/rping/client.ts';
import { RPING_PORT } from '../../tools/rping/protocol.ts';
import { runRpingServer } from '../../tools/rping/server.ts';
import { describeWith, useWhereThere } from '../support/need.ts';
import { within } from '../support/netns.ts';

const GUEST = { 4: '10.77.0.2', 6: 'fd77::2' } as const;
const OURS = { 4: '10.77.0.1', 6: 'fd77::1' } as const;
const OUR_MAC = '52:54:00:00:00:01';
const PINGS = 3;
const RPING = { port: RPING_PORT, count: PINGS, size: 3000, verbose: true } as const;
const COMMAND_TIMEOUT_MS = 60_000;
const GUEST_TAP = 'guest0';
const OUR_TAP = 'ours0';
const NAMESPACE = `rocev2-links-${process.pid}`;

interface Case {
  /** As typed, by way of the kind before the colon. */
  readonly link: string;
  /** Made before the device is opened, and the way back. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** A bridge that snoops says so to the neighbours, with IP options that no RoCE packet has. */
const BRIDGED = ['link add br0 type bridge mcast_snooping 0', 'link set br0 up', `tuntap add dev ${OUR_TAP} mode tap`];
const PLUGGED = [`link set ${OUR_TAP} master br0 up`, `link set ${GUEST_TAP} master br0`];
const ADDRESSES = [`${OURS[4]}/24`, `${OURS[6]}/64`];

const CASES: readonly Case[] = [
  { link: `pcap:${GUEST_TAP}`, before: [], after: [] },
  { link: `packet-ring:${GUEST_TAP}`, before: [], after: [] },
  {
    link: `raw-socket:${GUEST_TAP}`,
    before: ADDRESSES.map((address) => `address add ${address} dev ${GUEST_TAP}`),
    after: ADDRESSES.map((address) => `address del ${address} dev ${GUEST_TAP}`),
  },
  {
    link: `tap:${OUR_TAP}`,
    before: [...BRIDGED, ...PLUGGED],
    after: [`link set ${GUEST_TAP} nomaster`, 'link del br0', `link del ${OUR_TAP}`],
  },
];

describeWith('lab', 'rping over links', () => {
  useWhereThere('tshark');
  describeWith(['netns', 'raw-socket', 'cap'], 'of this machine', () => {
    let directory = '';
    let guest: Guest | undefined;
    const exec = (...command: readonly string[]): string => ip('netns', 'exec', NAMESPACE, ...command);
    const prefix = ['ip', 'netns', 'exec', NAMESPACE];
    const there: Netns = { name: NAMESPACE, device: GUEST_TAP, mac: '', ipv4: '', ipv6: '', prefix, exec };

    beforeAll(async () => {
      directory = mkdtempSync(join(tmpdir(), 'roce-links-'));
      const image = await buildImage('6.12');
      addQuietNetns(NAMESPACE);
      exec('ip', 'tuntap', 'add', 'dev', GUEST_TAP, 'mode', 'tap');
      exec('ip', 'link', 'set', GUEST_TAP, 'up');
      guest = await within(there, () => Guest.boot({ image, tap: GUEST_TAP, addresses: guestAddresses() }));
    });

    afterAll(async () => {
      await guest?.stop();
      ip('netns', 'del', NAMESPACE);
      rmSync(directory, { recursive: true, force: true });
    });

    describe.each(CASES)('$link', ({ link, before, after }) => {
      it.each([
        ['the guest connects to us', 'client', 4],
        ['we connect to the guest', 'server', 4],
        ['the guest connects to us over IPv6', 'client', 6],
        ['we connect to the guest over IPv6', 'server', 6],
      ] as const)('%s', async (_, role, version) => {
        for (const command of before) exec('ip', ...command.split(' '));
        try {
          const capture = join(directory, `${link.replace(':', '-')}-${role}-${version}.pcapng`);
          // Our addresses have been somebody else's.
          expect((await demanded(guest).run('ip neigh flush all')).code).toBe(0);
          await ping(await device(link, capture), demanded(guest), role, version, capture);
        } finally {
          for (const command of after) exec('ip', ...command.split(' '));
        }
      });
    });

    function device(link: string, capture: string): Promise<Opened> {
      return within(there, () => opened(link, capture));
    }
  });

  describe('qemu:PATH', () => {
    it.each([
      ['the guest connects to us', 'client'],
      ['we connect to the guest', 'server'],
    ] as const)('%s', async (_, role) => {
      const directory = mkdtempSync(join(tmpdir(), 'roce-links-'));
      const path = join(directory, 'wire.sock');
      const capture = join(directory, 'wire.pcapng');
      const ours = await opened(`qemu:${path}`, capture);
      const image = await buildImage('6.12');
      const guest = await Guest.boot({ image, netSocket: { path }, addresses: guestAddresses() });
      try {
        await ping(ours, guest, role, 4, capture);
      } finally {
        await guest.stop();
        rmSync(directory, { recursive: true, force: true });
      }
    });
  });
});

interface Opened {
  readonly open: OpenDevice;
  readonly file: CaptureFile | undefined;
}

/** A device with our addresses; on a link that has the kernel's those are the same. */
async function opened(link: string, capture: string): Promise<Opened> {
  let file: CaptureFile | undefined;
  const open = await openDevice({
    link,
    addresses: ADDRESSES,
    mac: OUR_MAC,
    captureSink: ({ name, medium }) => {
      file = new CaptureFile(capture, { interfaceName: name, ethernet: medium === Medium.Ethernet });
      return file;
    },
  });
  return { open, file };
}

/** rping in the guest as `role` and ours as the other; then the capture is looked at. */
async function ping(
  { open, file }: Opened,
  guest: Guest,
  role: 'client' | 'server',
  version: 4 | 6,
  capture: string,
): Promise<void> {
  try {
    if (role === 'client') await guestConnects(open, guest, version);
    else await guestServes(open, guest, version);
  } finally {
    await open.close();
    file?.close();
  }
  const verdict = await verifyCapture(capture, { findings: [], tolerated: SLOW_HOST_WARNINGS });
  expect(verdict.faults).toEqual([]);
  // Connecting and ending takes six packets at least, a ping of 3,000 bytes with a path MTU of 1,024 twelve.
  expect(verdict.roceFrames).toBeGreaterThan(6 + 12 * PINGS);
}

async function guestConnects({ device }: OpenDevice, guest: Guest, version: 4 | 6): Promise<void> {
  const lines: string[] = [];
  const serving = runRpingServer(device, RPING, into(lines));
  const command = `rping -c -a ${OURS[version]} -C ${PINGS} -S ${RPING.size} -v -V`;
  const [result, code] = await Promise.all([guest.run(command, { timeoutMs: COMMAND_TIMEOUT_MS }), serving]);
  judge(result, code, lines);
}

async function guestServes({ device }: OpenDevice, guest: Guest, version: 4 | 6): Promise<void> {
  const lines: string[] = [];
  const job = guest.spawn(`rping -s -a ${GUEST[version]} -C ${PINGS} -S ${RPING.size} -v -V`);
  try {
    const listens = `for i in $(seq 100); do rdma resource show cm_id | grep LISTEN | grep -q ':${RPING_PORT}' && exit 0; sleep 0.1; done; exit 1`;
    expect((await guest.run(listens)).code).toBe(0);
    const address = IpAddress.parse(GUEST[version]);
    const code = await runRpingClient(device, { address, ...RPING, validate: true }, into(lines));
    judge(await job.wait(COMMAND_TIMEOUT_MS), code, lines);
  } finally {
    await job.kill('KILL');
  }
}

function judge(result: RunResult, code: number, lines: readonly string[]): void {
  expect(rpingFault(result, PINGS)).toBe('');
  expect([code, lines.filter((line) => line.includes('ping data: rdma-ping-')).length]).toEqual([0, PINGS]);
}

function into(lines: string[]): ToolOutput {
  return { line: (text) => void lines.push(text), complaint: (text) => void lines.push(text) };
}

function guestAddresses(): string[] {
  return [`${GUEST[4]}/24`, `${GUEST[6]}/64`];
}

function demanded<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the guest has not booted');
  return value;
}
