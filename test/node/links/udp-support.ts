/**
 * What the tests of both UDP links share: frames as a device makes them, links to themselves, and every bad input once
 * for each.
 */
import { createSocket, type Socket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { BTH_BYTES, writeBth } from '../../../packets/bth.ts';
import { DETH_BYTES } from '../../../packets/deth.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../../packets/frame.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { HeaderTemplate } from '../../../packets/header-template.ts';
import { icrcMatches } from '../../../packets/icrc.ts';
import { Op } from '../../../packets/opcode.ts';
import type { Link } from '../../../src/ground/link.ts';
import { Access, openDevice, QpState, WrOpcode } from '../../../src/index.ts';
import { openLink } from '../../../src/node/links/index.ts';
import type { UdpCounters, UdpLinkOptions } from '../../../src/node/links/udp-endpoint.ts';
import { Collector } from '../../sim/support.ts';

export type UdpLink = Link & { readonly counters: UdpCounters };
export type MakeUdpLink = (options: UdpLinkOptions) => UdpLink;

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn();
}

/** A port that nobody has, as the kernel chooses it. */
export async function freePort(): Promise<number> {
  const socket = await bound(0);
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(() => resolve()));
  return port;
}

export function bound(port: number, address = '::1'): Promise<Socket> {
  const socket = createSocket({ type: 'udp6' });
  return new Promise((resolve) => socket.bind(port, address, () => resolve(socket)));
}

/** Appends a UD packet of a given length from its IPv6 header on. */
export function appendPacket(
  writer: FrameWriter,
  { source = '::1', destination = '::1', length = 128, trafficClass = 0, sourcePort = 4791, psn = 0 } = {},
): void {
  const template = new HeaderTemplate({
    medium: Medium.Ip,
    sourceMac: new Uint8Array(6),
    destMac: new Uint8Array(6),
    source: IpAddress.parse(source),
    destination: IpAddress.parse(destination),
    trafficClass,
    hopLimit: 64,
    flowLabel: 0,
    sourcePort,
  });
  const bth = writer.begin(template);
  writeBth(writer.view, bth, Op.UdSendOnly, 0, 1, 0, 0xff_ff, 2, 0, psn);
  writer.bytes.fill(psn & 0xff, bth + BTH_BYTES, bth - template.length + length - 4);
  expect(length).toBeGreaterThanOrEqual(template.length + BTH_BYTES + DETH_BYTES + 4);
  writer.end(template, bth - template.length + length - 4);
}

export interface Parsed {
  readonly status: FrameStatus;
  readonly icrc: boolean;
  readonly psn: number;
  readonly length: number;
  readonly trafficClass: number;
  readonly sourcePort: number;
}

export function parse(bytes: Uint8Array): Parsed {
  const frame = new Frame();
  const status = parseFrame(bytes, new DataView(bytes.buffer), 0, bytes.length, Medium.Ip, frame);
  const { psn, trafficClass, sourcePort } = frame;
  return {
    status,
    icrc: status === FrameStatus.Ok && icrcMatches(frame),
    psn,
    length: bytes.length,
    trafficClass,
    sourcePort,
  };
}

/** A counter of /proc/net/snmp6 in the namespace of this process. */
export function snmp6(name: string): number {
  return Number(
    new RegExp(`^${name}\\s+(\\d+)$`, 'm').exec(readFileSync('/proc/net/snmp6', 'utf8'))?.[1] ?? Number.NaN,
  );
}

/** A link to itself and what it receives. */
export async function selfLink(
  make: MakeUdpLink,
  options: Partial<UdpLinkOptions> = {},
): Promise<{ link: UdpLink; sink: Collector; port: number }> {
  const port = await freePort();
  const link = make({ address: '::1', port, ...options });
  const sink = new Collector();
  await link.start(sink);
  return { link, sink, port };
}

/** What is refused when a link is made or started. */
export function refusals(kind: string, make: MakeUdpLink): void {
  describe(`what ${kind} refuses`, () => {
    it.each([
      ['10.0.0.1', 'ERR_ROCE_ADDRESS', /IPv4/],
      ['::ffff:10.0.0.1', 'ERR_ROCE_ADDRESS', /IPv4/],
      ['[::]', 'ERR_ROCE_ADDRESS', /no address of one interface/],
      ['[ff02::1]', 'ERR_ROCE_ADDRESS', /no address of one interface/],
      ['localhost', 'ERR_ROCE_ADDRESS', /not an IPv4 or IPv6 address/],
      ['[::1', 'ERR_ROCE_ADDRESS', /not an IPv4 or IPv6 address/],
      ['[::1],port=0', 'ERR_ROCE_ARGUMENT', /port must be/],
      ['[::1],mtu=70000', 'ERR_ROCE_ARGUMENT', /mtu must be/],
      ['[::1],colour=red', 'ERR_ROCE_ARGUMENT', /unknown option/],
    ])('%s', (text, code, sentence) => {
      expect(() => openLink(`${kind}:${text}`)).toThrow(
        expect.objectContaining({ code, message: expect.stringMatching(sentence) }),
      );
    });

    it.each(['[::1]', '::1'])('but not %s', (text) => {
      const link = openLink(`${kind}:${text},mtu=4200`);
      expect([link.name, link.mtu, link.addresses, link.sourcePort]).toEqual([
        `${kind}:[::1]`,
        4200,
        ['::1/128'],
        4791,
      ]);
    });

    it('a port that somebody has, saying what to do', async () => {
      const socket = await bound(0);
      const link = make({ address: '::1', port: socket.address().port });
      await expect(link.start(new Collector())).rejects.toMatchObject({
        code: 'ERR_ROCE_LINK_UNAVAILABLE',
        message: expect.stringMatching(/EADDRINUSE.*another process/),
      });
      socket.close();
    });

    it('an address that is not ours, saying where to look', async () => {
      const link = make({ address: '2001:db8::77' });
      expect(link.addresses).toEqual(['2001:db8::77/128']);
      await expect(link.start(new Collector())).rejects.toMatchObject({
        code: 'ERR_ROCE_LINK_UNAVAILABLE',
        message: expect.stringMatching(/EADDRNOTAVAIL.*ip -6 address/),
      });
      await link.close();
    });

    it('to start twice, or after its end', async () => {
      const { link } = await selfLink(make);
      await expect(link.start(new Collector())).rejects.toMatchObject({ code: 'ERR_ROCE_STATE' });
      await link.close();
      await expect(link.start(new Collector())).rejects.toMatchObject({ code: 'ERR_ROCE_STATE' });
    });
  });
}

/** What both links do with frames, without privileges. */
export function traffic(kind: string, make: MakeUdpLink): void {
  describe(`${kind} to itself, without privileges`, () => {
    it('brings back what it has sent, headers that the ICRC covers included', async () => {
      const { link, sink } = await selfLink(make, { mtu: 4200 });
      const writer = new FrameWriter(4, 9000);
      for (const [psn, length] of [76, 300, 4180, 4180].entries()) appendPacket(writer, { length, psn });
      expect(link.send(writer, 0)).toBe(4);
      await until(() => sink.frames.length === 4);
      expect(sink.frames.map(parse)).toMatchObject(
        [76, 300, 4180, 4180].map((length, psn) => ({
          status: FrameStatus.Ok,
          icrc: true,
          psn,
          length,
          sourcePort: 4791,
        })),
      );
      expect(link.counters).toMatchObject({ sent: 4, received: 4, refused: 0 });
      await link.close();
    });

    it('loses and counts what it cannot send, and sends the rest in order', async () => {
      const { link, sink } = await selfLink(make, { mtu: 1500 });
      const writer = new FrameWriter(8, 9000);
      appendPacket(writer, { psn: 1 });
      appendPacket(writer, { psn: 2, length: 1504 });
      appendPacket(writer, { psn: 3, sourcePort: 0xc0_00 });
      appendPacket(writer, { psn: 4, source: '::2' });
      writer.appendRaw(new Uint8Array(30), 0, 30);
      writer.appendRaw(new Uint8Array(0), 0, 0);
      appendPacket(writer, { psn: 5 });
      expect(link.send(writer, 0)).toBe(7);
      await until(() => sink.frames.length === 2);
      expect(sink.frames.map((bytes) => parse(bytes).psn)).toEqual([1, 5]);
      expect(link.counters).toMatchObject({ sent: 2, oversize: 1, unsendable: 4 });
      await link.close();
    });

    it('takes any bytes of anybody for what they are', async () => {
      const { link, sink, port } = await selfLink(make);
      const stranger = await bound(0);
      const sourcePort = stranger.address().port;
      const datagrams = fc.sample(fc.uint8Array({ maxLength: 2000 }), 100);
      for (const [index, bytes] of datagrams.entries()) {
        stranger.send(bytes, port, '::1');
        await until(() => sink.frames.length === index + 1);
      }
      for (const [index, frame] of sink.frames.entries()) {
        expect(frame.subarray(48)).toEqual(datagrams[index]);
        expect(parse(frame)).toMatchObject({ icrc: false, sourcePort });
      }
      stranger.close();
      await link.close();
    });

    it('carries RDMA WRITEs of a device to itself', async () => {
      const port = await freePort();
      const { device, close } = await openDevice({ link: `${kind}:[::1],port=${port}` });
      expect(device.activeMtu).toBe(4096);
      const pd = device.allocPd();
      const cq = device.createCq(16);
      const bytes = 1 << 20;
      const from = pd.regMr(
        Uint8Array.from({ length: bytes }, (_, i) => i * 31 + (i >> 8)),
        { access: Access.LocalWrite },
      );
      const to = pd.regMr(bytes, { access: Access.LocalWrite | Access.RemoteWrite });
      const [a, b] = [pd.createQp({ sendCq: cq, recvCq: cq }), pd.createQp({ sendCq: cq, recvCq: cq })];
      for (const [qp, peer] of [
        [a, b],
        [b, a],
      ] as const) {
        qp.modifyNow({ state: QpState.Init, access: Access.RemoteWrite });
        const rtr = { destQpn: peer.qpn, rqPsn: 7, mtu: 4096, maxDestRdAtomic: 1, minRnrTimer: 12 };
        qp.modifyNow({ state: QpState.Rtr, av: { destination: IpAddress.parse('::1') }, ...rtr });
        qp.modifyNow({ state: QpState.Rts, sqPsn: 7, timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 1 });
      }
      for (let wrId = 0; wrId < 4; wrId++)
        a.postSend({
          wrId,
          opcode: WrOpcode.RdmaWrite,
          sges: [{ mr: from, offset: 0, length: bytes }],
          remoteAddr: to.iova,
          rkey: to.rkey,
        });
      for (let wrId = 0; wrId < 4; wrId++) expect((await cq.next()).value).toMatchObject({ wrId, status: 0 });
      expect(Buffer.compare(from.bytes, to.bytes)).toBe(0);
      await close();
    });
  });
}
