/**
 * Goal: a capture's view calls broken what should be a RoCE packet and is none, and nothing else. Method: captures of
 * one frame each.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { LinkType, PcapngWriter } from '../../../pcap/index.ts';
import { viewCapture } from '../../../tools/experiment/capture-view.ts';

const ETHERNET = '01005e000016' + '525400000002' + '0800';
/** With the router alert option, as RFC 3376 asks of every IGMP message. */
const IGMP = `${ETHERNET}46c0002800004000010200000a4d0002e0000016940400002200fa010000000104000000ef010203`;
/** To port 4791, with a header of 24 bytes. */
const ROCE_WITH_OPTIONS = `${ETHERNET}460000380000400040110000${'0a4d0002'.repeat(2)}94040000c00012b700200000${'00'.repeat(24)}`;

it.each([
  ['IGMP, whose IPv4 header has options, is none of our business', IGMP, 'other'],
  ['UDP whose IPv4 header has options is broken', ROCE_WITH_OPTIONS, 'broken'],
  ['what ends within its IPv4 header is broken', `${ETHERNET}4500`, 'broken'],
])('%s', (_, hex, kind) => {
  const directory = mkdtempSync(join(tmpdir(), 'roce-view-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'one.pcapng');
  const writer = new PcapngWriter();
  const interfaceIndex = writer.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
  const bytes = Buffer.from(hex, 'hex');
  writer.packet(interfaceIndex, bytes, 0, bytes.length, 0, 0);
  writeFileSync(path, writer.take());
  expect(viewCapture(path)).toEqual([{ number: 1, kind, goodIcrc: false }]);
});
