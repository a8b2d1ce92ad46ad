/**
 * Goal: what carries packets does not change what is found in them. Method: every scene of every symptom, with a
 * virtual network for each direction, has the findings and limits that it has without.
 */
import { describe, expect, it } from 'vitest';
import { ipv4HeaderChecksum } from '../../../../packets/checksum.ts';
import { GSI_QPN } from '../../../../packets/mad.ts';
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import { readCapture } from '../../../../pcap/reader.ts';
import type { CapturedPacket } from '../../../../pcap/types.ts';
import { allScenes } from '../../../../tools/symptoms/index.ts';
import { ethernet, ipv4, udp } from '../../tunnels/wrappings.ts';

const SOURCE_MAC_END = 11;
const DEST_QPN_END = 49;

/** Around each frame: Ethernet, IPv4 and UDP, whose lengths and checksum are set, and the VNI. */
const HEADER = ethernet('0800', ipv4(17, udp(4789, '0800000000000000')));
const IP_AT = 14;
const UDP_AT = 34;
const VNI_AT = 46;

function within(frame: Uint8Array, vni: number): Uint8Array {
  const bytes = new Uint8Array(HEADER.length + frame.length);
  bytes.set(HEADER);
  bytes.set(frame, HEADER.length);
  const view = new DataView(bytes.buffer);
  view.setUint16(IP_AT + 2, bytes.length - IP_AT);
  view.setUint16(IP_AT + 10, 0);
  view.setUint16(IP_AT + 10, ipv4HeaderChecksum(view, IP_AT));
  view.setUint16(UDP_AT + 4, bytes.length - UDP_AT);
  view.setUint32(VNI_AT, vni << 8);
  return bytes;
}

/** What the first host sends has one VNI, everything else the other. */
function wrapped(packets: readonly CapturedPacket[], there: number, back: number): CapturedPacket[] {
  const first = Math.min(...packets.map(({ bytes }) => bytes[SOURCE_MAC_END] ?? 0));
  return packets.map((packet) => {
    const bytes = within(packet.bytes, packet.bytes[SOURCE_MAC_END] === first ? there : back);
    return { ...packet, bytes, originalLength: packet.originalLength + bytes.length - packet.bytes.length };
  });
}

function told(packets: readonly CapturedPacket[]) {
  const analyzer = new Analyzer();
  for (const packet of packets) analyzer.packet(packet);
  const { findings, limits } = analyzer.finish();
  return [...findings.map(({ id, severity }) => `${severity} ${id}`), ...limits.map(({ kind }) => kind)];
}

/** In a tunnel the marks of the inner header are not those of the network. */
const RESTS_ON_MARKS = new Set(['cnp-storm-without-marks']);

describe('a scene within virtual networks has the findings that it has without', () => {
  it.each(allScenes().filter(({ name }) => !RESTS_ON_MARKS.has(name)))('$name', async (scene) => {
    const packets = [...readCapture(await scene.make())];
    const plain = told(packets);
    expect(told(wrapped(packets, 10, 20))).toEqual(plain);
  });
});

it('the silence of a queue pair is not explained by that of another tenant, which was disconnected', async () => {
  const scene = allScenes().find(({ name }) => name === 'no-reply-after-disconnect');
  const packets = [...readCapture((await scene?.make()) ?? new Uint8Array(0))];
  const isManagement = ({ bytes }: CapturedPacket) => bytes[DEST_QPN_END] === GSI_QPN && bytes[DEST_QPN_END - 1] === 0;
  const silent = packets.filter((packet) => !isManagement(packet));
  const both = packets.flatMap((packet) => [
    ...wrapped([packet], 10, 10),
    ...(silent.includes(packet) ? wrapped([packet], 20, 20) : []),
  ]);
  const findings = told(both.map((packet, i) => ({ ...packet, number: i + 1 })));
  expect(findings).toContain('error no-reply');
});

it('another tenant with the address of a silent host is not this host, begun anew', async () => {
  const scenes = allScenes().filter(({ symptom, triggers }) => symptom === 'peer-restarted' && triggers);
  let restarts = 0;
  for (const scene of scenes) {
    const packets = [...readCapture(await scene.make())];
    if (!told(packets).includes('error peer-restarted')) continue;
    restarts++;
    const analyzer = new Analyzer();
    const tenants = packets.flatMap((packet) => {
      const vni = analyzer.packet(packet).conversation?.id ?? 1;
      return wrapped([packet], vni, vni);
    });
    expect(told(tenants), scene.name).not.toContain('error peer-restarted');
  }
  expect(restarts).toBeGreaterThan(0);
});
