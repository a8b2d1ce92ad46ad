/**
 * Goal: rdma_rxe and we agree on the headers of a connection, in both roles, and find each other again when a MAC
 * address changes. Method: one guest at the other end of a wire that we watch; its own rping, and ours in this process,
 * so that our device lives on while the guest changes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { sourcePortOfFlowLabel } from '../../packets/flow-label.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../packets/frame.ts';
import { GSI_QPN } from '../../packets/mad.ts';
import { IpAddress } from '../../src/index.ts';
import { type OpenDevice, openDevice } from '../../src/node/open.ts';
import { rpingFault } from '../../tools/interop/stock-rping.ts';
import { Guest } from '../../tools/lab/guest.ts';
import { buildImage } from '../../tools/lab/image.ts';
import { runRpingClient } from '../../tools/rping/client.ts';
import { runRpingServer } from '../../tools/rping/server.ts';
import { describeWith } from '../support/need.ts';
import { Transcript } from '../tools/rping/support.ts';

const GUEST = '10.77.0.2';
const OURS = '10.77.0.1';
const PORT = 7174;
const PINGS = 3;
/** DSCP 26, ECT(0). */
const TRAFFIC_CLASS = (26 << 2) | 2;
const FLOW_LABEL = 0x7_1f_3a;
/** Ends when rping listens in the guest. */
const LISTENING =
  "for i in $(seq 100); do rdma resource show cm_id | grep -q LISTEN && exit 0; sleep 0.1; done; echo 'rping does not listen'";

describeWith('lab', 'the headers of a connection with rdma_rxe', () => {
  let directory = '';
  let guest: Guest;
  let opened: OpenDevice;
  /** Direction, class and source port of the packets of connections. */
  const seen = new Set<string>();

  beforeAll(async () => {
    const image = await buildImage('6.12');
    directory = mkdtempSync(join(tmpdir(), 'rocev2-headers-'));
    const path = join(directory, 'wire');
    const frame = new Frame();
    opened = await openDevice({
      link: `qemu:${path}`,
      addresses: [`${OURS}/24`],
      path: { trafficClass: TRAFFIC_CLASS, flowLabel: FLOW_LABEL },
      captureSink: {
        frame: (_timeNs, direction, bytes, start, end) => {
          const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
          if (parseFrame(bytes, view, start, end, Medium.Ethernet, frame) !== FrameStatus.Ok) return;
          if (frame.destQpn !== GSI_QPN) seen.add(`${direction} class ${frame.trafficClass} port ${frame.sourcePort}`);
        },
      },
    });
    guest = await Guest.boot({ image, netSocket: { path }, addresses: [`${GUEST}/24`] });
  });

  afterAll(async () => {
    await opened?.close();
    await guest?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  beforeEach(() => seen.clear());

  /** Our client, the guest's server. */
  async function pingGuest(): Promise<void> {
    const serving = guest.spawn(`rping -s -a ${GUEST} -C ${PINGS} -S 3000 -v`);
    const listening = await guest.run(LISTENING);
    expect(listening.stderr + listening.stdout).toBe('');
    const options = { address: IpAddress.parse(GUEST), port: PORT, size: 3000, count: PINGS, validate: true };
    expect(await runRpingClient(opened.device, options, new Transcript())).toBe(0);
    expect(rpingFault(await serving.wait(60_000), PINGS)).toBe('');
  }

  /** The guest's client, our server. */
  async function pingUs(): Promise<void> {
    const serving = runRpingServer(opened.device, { port: PORT, size: 3000 }, new Transcript());
    const client = await guest.run(`rping -c -a ${OURS} -C ${PINGS} -S 3000 -v`);
    expect(rpingFault(client, PINGS)).toBe('');
    expect(await serving).toBe(0);
  }

  const counters = () => opened.device.paths.neighbours?.counters;

  it('are ours in both directions when we connect: class and port of rdma_rxe follow the path of our REQ', async () => {
    await pingGuest();
    const port = sourcePortOfFlowLabel(FLOW_LABEL);
    expect([...seen].sort()).toEqual([
      `in class ${TRAFFIC_CLASS} port ${port}`,
      `out class ${TRAFFIC_CLASS} port ${port}`,
    ]);
  });

  it('have one port each way when rdma_rxe connects, and the class that each side has chosen', async () => {
    await pingUs();
    const ports = new Set([...seen].map((line) => line.replace(/ port .*/, '')));
    expect([...ports].sort()).toEqual(['in class 0', `out class ${TRAFFIC_CLASS}`]);
    expect(seen.size).toBe(2);
  });

  it('lead to a guest that has got another MAC address since we spoke last', async () => {
    const before = { ...counters() };
    const moved = await guest.run('ip link set eth0 address 52:54:00:00:00:77 && ip neigh flush all');
    expect([moved.code, moved.stderr]).toEqual([0, '']);
    await pingGuest();
    expect(counters()?.moved).toBe((before.moved ?? 0) + 1);
    await pingUs();
  });
});
