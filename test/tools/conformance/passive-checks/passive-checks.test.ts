/**
 * Goal: a passive rule passes only when a packet that it speaks of was looked at and right, and names the packet that
 * broke it. Method: packets of our own making, one as it should be and one with a single thing wrong; the sightings are
 * made as the station makes them.
 */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../../packets/address.ts';
import { Frame, Medium, parseFrame } from '../../../../packets/frame.ts';
import { buildFrame, type Route } from '../../../../packets/kit/build.ts';
import { ack, nak, type Packet, pattern, readMiddle, readOnly, sendOnly } from '../../../../packets/kit/packet.ts';
import { sightingOf } from '../../../../packets/kit/sighting.ts';
import { Op } from '../../../../packets/opcode.ts';
import { DERIVED_RULES } from '../../../../tools/conformance/passive-checks/derived.ts';
import {
  makePassiveChecks,
  PASSIVE_RULES,
  type PassiveCheckContext,
  type PassiveChecks,
} from '../../../../tools/conformance/passive-checks/index.ts';
import { RULES } from '../../../../tools/conformance/rules/index.ts';

const routeOf = (version: 4 | 6): Route => ({
  medium: Medium.Ethernet,
  sourceMac: new Uint8Array(6),
  destMac: new Uint8Array(6),
  source: IpAddress.parse(version === 4 ? '192.0.2.1' : '2001:db8::1'),
  destination: IpAddress.parse(version === 4 ? '192.0.2.2' : '2001:db8::2'),
  trafficClass: 0,
  hopLimit: 64,
  flowLabel: 0,
  sourcePort: 0xc0_01,
});
const CONTEXT: PassiveCheckContext = {
  addresses: [
    { device: '192.0.2.1', ours: '192.0.2.2' },
    { device: '2001:db8::1', ours: '2001:db8::2' },
  ],
};

/** Gives the passive checks the packet as the station would. */
function show(checks: PassiveChecks, packet: Packet, version: 4 | 6): void {
  const bytes = buildFrame(packet, routeOf(version), 0x77, 0);
  const frame = new Frame();
  const status = parseFrame(bytes, new DataView(bytes.buffer), 0, bytes.length, Medium.Ethernet, frame);
  if (frame.bthOffset < 0) checks.checkOther(bytes, 14, 5);
  else checks.check(sightingOf(frame, status, 5));
}

function verdicts(packets: readonly Packet[], version: 4 | 6 = 4, context = CONTEXT): Record<string, string> {
  const checks = makePassiveChecks(context);
  for (const packet of packets) show(checks, packet, version);
  return Object.fromEntries(checks.results().map(({ rule, verdict }) => [rule, verdict]));
}

const failing = (packet: Packet, version: 4 | 6 = 4, context = CONTEXT): string[] =>
  Object.entries(verdicts([packet], version, context)).flatMap(([rule, verdict]) => (verdict === 'fail' ? [rule] : []));

const ACK = ack({ psn: 1, msn: 1, migReq: 0 });
const ALL: readonly Packet[] = [
  ACK,
  nak(0x60, { psn: 2, msn: 1 }),
  readOnly({ psn: 3, msn: 2, payload: pattern(5) }),
  readMiddle({ psn: 4, payload: pattern(256) }),
  sendOnly({ psn: 1, payload: pattern(9) }),
];

describe('passive checks', () => {
  it('are for rules of the registry, each once', () => {
    const ids = new Set(RULES.map(({ id }) => id));
    expect(PASSIVE_RULES.filter((rule) => !ids.has(rule))).toEqual([]);
    expect(new Set(PASSIVE_RULES).size).toBe(PASSIVE_RULES.length);
    expect(DERIVED_RULES.every(({ id }) => ids.has(id))).toBe(true);
  });

  it('pass for nothing that was not looked at', () => {
    expect(
      new Set(
        makePassiveChecks()
          .results()
          .map(({ verdict }) => verdict),
      ),
    ).toEqual(new Set(['inconclusive']));
    const seen = verdicts([ACK]);
    expect(seen).toMatchObject({
      'ANX-02': 'pass',
      'ANX-03': 'pass',
      'ACK-04': 'inconclusive',
      'ANX-15': 'inconclusive',
    });
    expect(seen).toMatchObject({ 'ANX-47': 'pass', 'RD-03': 'inconclusive', 'RD-05': 'inconclusive' });
    expect(verdicts([ACK], 4, {})).toMatchObject({ 'ANX-11': 'inconclusive', 'ANX-12': 'inconclusive' });
  });

  it('pass for packets of every kind that are as they should be', () => {
    const ip4 = verdicts(ALL, 4);
    const ip6 = verdicts(ALL, 6);
    for (const rule of PASSIVE_RULES) expect([ip4[rule], ip6[rule]], rule).toContain('pass');
    expect(Object.values({ ...ip4, ...ip6 })).not.toContain('fail');
  });

  it('name the packet that broke a rule', () => {
    const checks = makePassiveChecks(CONTEXT);
    show(checks, ACK, 4);
    show(checks, { ...nak(0x60, { psn: 9, msn: 1 }), trafficClass: 1 }, 4);
    expect(checks.results().find(({ rule }) => rule === 'ANX-05')).toEqual({
      rule: 'ANX-05',
      verdict: 'fail',
      reason: 'ECN 1, in packet 2 of the device (at 5 ns): NAK 0x60 psn+9 msn 1',
    });
  });

  it('tell each fault of a header from all others', () => {
    const edit = (change: (view: DataView, ip: number, udp: number) => void): Packet => ({
      ...ACK,
      edit: ({ view, ip, udp }) => {
        change(view, ip, udp);
        return undefined;
      },
    });
    expect(failing(edit((view, ip) => view.setUint16(ip + 6, 0)))).toEqual(['ANX-07']);
    expect(failing(edit((view, ip) => view.setUint16(ip + 6, 0x60_00)))).toEqual(['ANX-02', 'ANX-07']);
    expect(failing(edit((view, ip) => view.setUint16(ip + 6, 0x40_01)))).toEqual(['ANX-02', 'ANX-08']);
    expect(failing(edit((view, ip) => view.setUint8(ip + 9, 136)))).toEqual(['ANX-02', 'ANX-10']);
    expect(
      failing(
        edit((view, ip) => view.setUint8(ip + 6, 136)),
        6,
      ),
    ).toEqual(['ANX-02', 'ANX-16']);
    expect(failing(edit((view, _, udp) => view.setUint16(udp + 2, 4790)))).toEqual(['ANX-02', 'ANX-20']);
    expect(failing(edit((view, ip) => view.setUint16(ip + 2, 44)))).toContain('ANX-06');
    expect(
      failing(
        edit((view, ip) => view.setUint16(ip + 4, 24)),
        6,
      ),
    ).toContain('ANX-15');
    expect(failing(edit((view, _, udp) => view.setUint16(udp + 4, 24)))).toContain('ANX-21');
    expect(failing({ ...ACK, source: '192.0.2.9' })).toEqual(['ANX-11']);
    expect(failing({ ...ACK, destination: '192.0.2.9' })).toEqual(['ANX-12']);
    expect(failing({ ...ACK, source: '2001:db8::9' }, 6)).toEqual(['ANX-18']);
    expect(failing({ ...ACK, destination: '2001:db8::9' }, 6)).toEqual(['ANX-19']);
    expect(failing({ ...ACK, trafficClass: 2 }, 6)).toEqual(['ANX-14']);
    expect(failing({ ...ACK, trafficClass: 2 }, 6, { ...CONTEXT, congestion: true })).toEqual([]);
  });

  it('tell a wrong ICRC, a UDP checksum, and what is behind the BTH', () => {
    const spoil = (at: 'icrc' | 'udp', by: number): Packet => ({
      ...ACK,
      spoil: (draft) => {
        const offset = draft[at] + by;
        draft.bytes[offset] = (draft.bytes[offset] ?? 0) ^ 1;
        return undefined;
      },
    });
    expect(failing(spoil('icrc', 2))).toEqual(['ANX-22']);
    expect(failing(spoil('udp', 7))).toEqual(['PKT-19']);
    expect(failing({ ...ACK, opcode: 0x1a })).toEqual(['ANX-02']);
    expect(failing(readMiddle({ psn: 1, payload: pattern(260) }))).toEqual(['RD-03']);
    expect(failing(readOnly({ psn: 1, msn: 1, syndrome: 0x62 }))).toEqual(['ACK-04', 'RD-05']);
    expect(failing({ ...ACK, becn: 1 })).toEqual(['ACK-20']);
    expect(failing({ ...ACK, pkey: 0x7f_ff })).toEqual(['ACK-20']);
    expect(failing(sendOnly({ psn: 1, payload: pattern(5), pad: 1 }))).toEqual(['LEN-14']);
  });

  it('see a packet with IPv4 options, which the parser refuses', () => {
    const options: Packet = {
      ...ACK,
      spoil: ({ bytes, ip }) => {
        const longer = new Uint8Array(bytes.length + 4);
        longer.set(bytes.subarray(0, ip + 20));
        longer.fill(1, ip + 20, ip + 24);
        longer.set(bytes.subarray(ip + 20), ip + 24);
        longer[ip] = 0x46;
        new DataView(longer.buffer).setUint16(ip + 2, longer.length - ip);
        return longer;
      },
    };
    expect(failing(options)).toContain('ANX-03');
  });

  it('hold a connection to its source port, until the next case', () => {
    const checks = makePassiveChecks(CONTEXT);
    const verdict = (): string | undefined => checks.results().find(({ rule }) => rule === 'ANX-47')?.verdict;
    show(checks, ACK, 4);
    checks.begin();
    show(checks, { ...ACK, sourcePort: 50_000 }, 4);
    expect(verdict()).toBe('pass');
    show(checks, { ...ACK, opcode: Op.UdSendOnly, sourcePort: 50_001 }, 4);
    expect(verdict()).toBe('pass');
    show(checks, ACK, 4);
    expect(verdict()).toBe('fail');
  });

  it('pay no attention to frames that are not RoCE, whatever they hold', () => {
    const checks = makePassiveChecks(CONTEXT);
    for (let length = 0; length < 200; length++) checks.checkOther(pattern(length, length), 14, 0);
    const dns = buildFrame(ACK, routeOf(4), 0x77, 0);
    new DataView(dns.buffer).setUint16(14 + 22, 53);
    checks.checkOther(dns, 14, 0);
    expect(new Set(checks.results().map(({ verdict }) => verdict))).toEqual(new Set(['inconclusive']));
  });
});
