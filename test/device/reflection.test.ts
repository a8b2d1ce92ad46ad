/**
 * Goal: what leaves towards an address that has proved nothing stays within a budget for each frame that came from it,
 * whatever the protocol (issue: hostile network, row 6). Method: an attacker in the simulated world who answers ARP for
 * the forged address, so that all that is sent there is counted. SYNs: host/tcp/syn-flood; queries of groups:
 * host/group-reports.
 */
import { describe, expect, it } from 'vitest';
import { writeIcmpEcho } from '../../packets/icmp.ts';
import { arpReplyFrame, echoReplyFrame, solicitationFrame } from '../../src/device/host/neighbour-frames.ts';
import { TcpFlag } from '../../src/device/host/tcp/segment.ts';
import { attachDevice, type Device, IpAddress, World } from '../../src/index.ts';
import { attach, EVIL_MAC, SpoofedRequests, segmentOf } from './flooder.ts';
import { makeSide, PORT } from './support.ts';

const SECOND = 1e9;
const OURS = IpAddress.parse('10.0.0.1');
const OURS6 = IpAddress.parse('fd00::1');
const LIAR = { mac: EVIL_MAC, address: IpAddress.parse('10.0.0.66') };
const LIAR6 = { mac: EVIL_MAC, address: IpAddress.parse('fd00::66') };

/** What `count` frames draw in 200 s: frames out per frame in, bytes out per byte in; questions about addresses aside. */
async function drawn(make: (ours: Device) => (i: number) => Uint8Array, count: number, accepts = false) {
  const world = new World({ seed: 1 });
  const ours = attachDevice(world, 'ours', { addresses: ['10.0.0.1/24', 'fd00::1/64'] });
  const attacker = attach(world);
  attacker.answersFor(LIAR.address);
  const listener = ours.cm.listen(PORT);
  ours.tcp?.listen(PORT);
  if (accepts) {
    void (async () => {
      for await (const request of listener) request.accept({ qp: makeSide(ours, 64).qp }).catch(() => {});
    })();
  }
  attacker.flood(count, 1000, make(ours));
  await world.run(world.sleep(200 * SECOND));
  const asked = ours.paths.neighbours?.counters.questions ?? 0;
  const { sent, heard } = attacker;
  return { frames: (heard.frames - asked) / sent.frames, bytes: (heard.bytes - 60 * asked) / sent.bytes };
}

const requests = (port: number) => (ours: Device) => {
  const spoofed = new SpoofedRequests({ address: OURS, mac: ours.mac }, port);
  return () => spoofed.from(LIAR.address);
};
const tcp = (flags: number, to: number) => (ours: Device) => () =>
  segmentOf({ address: OURS, mac: ours.mac }, LIAR.address, { from: 1024, to }, { flags });
const PING = { reply: false, identifier: 1, sequence: 1, data: new Uint8Array(1000) };

/** A ping is an echo reply of another type; the checksum follows. */
function ping(ours: Device): Uint8Array {
  const frame = echoReplyFrame(LIAR, { mac: ours.mac, address: OURS }, PING, 0);
  writeIcmpEcho(new DataView(frame.buffer), 34, PING);
  return frame;
}

describe('a frame of an address that has proved nothing draws', () => {
  it.each([
    ['a REQ to a closed port', requests(PORT + 1), 1, 1],
    ['a REQ that nobody reads', requests(PORT), 0, 0],
    ['an ARP request', (ours: Device) => () => solicitationFrame(LIAR, OURS, ours.mac), 1, 1],
    ['an ARP reply', (ours: Device) => () => arpReplyFrame(LIAR, { mac: ours.mac, address: OURS }), 0, 0],
    ['a neighbour solicitation', (ours: Device) => () => solicitationFrame(LIAR6, OURS6, ours.mac), 1, 1],
    ['a ping', (ours: Device) => () => ping(ours), 1, 1],
    ['a SYN to a closed port', tcp(TcpFlag.Syn, PORT + 1), 1, 1],
    ['an ACK to a listener', tcp(TcpFlag.Ack, PORT), 1, 1],
    ['a RST', tcp(TcpFlag.Rst, PORT), 0, 0],
  ] as const)('%s: no more than its own', async (_, make, frames, bytes) => {
    const out = await drawn(make, 50);
    expect(out.frames).toBe(frames);
    expect(out.bytes).toBeLessThanOrEqual(bytes);
  });

  it('a REQ that the application accepts: eight REPs and a REJ, of its own size (SEC-14)', async () => {
    const out = await drawn(requests(PORT), 1, true);
    expect(out).toEqual({ frames: 9, bytes: 9 });
  });
});
