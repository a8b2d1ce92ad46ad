/**
 * Goal: the distance between notifications is measured, and what it is kept for is told. Method: marks every 10 us on
 * flows between two pairs of addresses, answered as a notification point of each kind would, and as none should.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { type CnpOptions, cnpCheck, type TracePacket } from '../../../../tools/conformance/lumina/checks.ts';
import { CNP_SCOPES, type CnpScope } from '../../../../tools/conformance/lumina/cnp.ts';
import { brokenOf, of, Scene } from './scene.ts';

const BOUND = 50_000;
/** Two flows to one sender, one to its second address, and one to another sender's, over two addresses here. */
const FLOWS = [
  { qpn: 11, peerQpn: 1, here: '10.0.0.2', peer: '10.0.0.1' },
  { qpn: 12, peerQpn: 2, here: '10.0.0.2', peer: '10.0.0.1' },
  { qpn: 13, peerQpn: 3, here: '10.0.0.3', peer: '10.0.0.1' },
  { qpn: 14, peerQpn: 4, here: '10.0.0.2', peer: '10.0.0.9' },
];
const OPTIONS: CnpOptions = { minTimeBetweenCnpsNs: BOUND, flows: FLOWS, slackNs: 0 };
const check = (scene: Scene, options: Partial<CnpOptions> = {}) =>
  cnpCheck(scene.trace, 'b', { ...OPTIONS, ...options });

type Flow = (typeof FLOWS)[number];
const mark = (scene: Scene, { qpn, here, peer }: Flow): Scene =>
  scene.put({
    end: 'b',
    way: 'got',
    opcode: Op.WriteMiddle,
    destQpn: qpn,
    source: peer,
    destination: here,
    marked: true,
  });
const cnp = (scene: Scene, { peerQpn, here, peer }: Flow): Scene =>
  scene.put({ end: 'b', way: 'sent', opcode: Op.Cnp, destQpn: peerQpn, source: here, destination: peer });

/** Answers marks on all flows with a distance kept for `scope`. */
function paced(scope: CnpScope, distance = BOUND): Scene {
  const scene = new Scene();
  const last = new Map<string, number>();
  const keys = {
    port: () => '',
    destination: (f: Flow) => f.peer,
    'address pair': (f: Flow) => f.here + f.peer,
    flow: (f: Flow) => `${f.qpn}`,
  };
  for (let i = 0; i < 400; i++) {
    // Not always the same one first, or a scope that is too wide would notify one flow only.
    const flow = FLOWS[(i * 7 + (i >> 2)) % FLOWS.length];
    if (flow === undefined) continue;
    mark(scene, flow);
    const key = keys[scope](flow);
    if (scene.timeNs - (last.get(key) ?? Number.NEGATIVE_INFINITY) < distance) continue;
    last.set(key, scene.timeNs);
    cnp(scene, flow);
    // The check has times of marks, the sender the same: a notification leaves in the moment of its mark.
    retime(scene, -1, 1e3);
  }
  return scene;
}

function retime(scene: Scene, at: number, earlierNs: number): void {
  const packet = scene.packets.at(at);
  if (packet === undefined) return;
  scene.packets.splice(at, 1, { ...packet, timeNs: packet.timeNs - earlierNs } satisfies TracePacket);
  scene.timeNs -= earlierNs;
}

describe('the notifications of a device', () => {
  it.each(CNP_SCOPES)('are told to be paced by %s', (scope) => {
    const results = check(paced(scope));
    expect(brokenOf(results)).toEqual([]);
    expect(of(results, 'CNP-07').figures).toMatchObject({ pacedBy: scope, marks: 400 });
    expect(of(results, 'CNP-07').seen).toBeGreaterThan(1);
  });

  it('are measured when nobody knows their distance', () => {
    const { minTimeBetweenCnpsNs: _, ...unknown } = OPTIONS;
    const results = cnpCheck(paced('flow').trace, 'b', unknown);
    expect(of(results, 'CNP-07').figures['cnpGapNsMin']).toBeGreaterThanOrEqual(BOUND);
  });

  it('break CNP-07 when two of a flow are closer than the distance', () => {
    const results = check(paced('flow', 0.8 * BOUND));
    expect(brokenOf(results)).toEqual(['CNP-07']);
    expect(of(results, 'CNP-07').difference).toMatch(/two CNPs of a flow are 4\d us apart/);
  });

  it('break CNP-07 when there are fewer than the marks draw', () => {
    const results = check(paced('flow', 3 * BOUND));
    expect(brokenOf(results)).toEqual(['CNP-07']);
    expect(of(results, 'CNP-07').difference).toContain('CNPs, where 400 marks paced by');
  });

  it('break CNP-05 when no mark came before', () => {
    const [flow, other] = FLOWS;
    if (flow === undefined || other === undefined) throw new Error('there are flows');
    expect(brokenOf(check(cnp(new Scene(), flow)))).toEqual(['CNP-05']);
    expect(of(check(cnp(mark(new Scene(), other), flow)), 'CNP-05').difference).toBe(
      'a CNP to queue pair 1 without a mark',
    );
    expect(brokenOf(check(cnp(cnp(mark(new Scene(), flow), flow).pass(1e6), flow)))).toContain('CNP-05');
  });

  it('may come with sequence NAKs, which is told and breaks nothing', () => {
    const [flow] = FLOWS;
    if (flow === undefined) throw new Error('there are flows');
    const scene = new Scene().put({ end: 'b', way: 'sent', opcode: Op.Acknowledge, syndrome: 0x60, destQpn: 1 });
    const results = check(cnp(scene, flow));
    expect(brokenOf(results)).toEqual([]);
    expect(of(results, 'CNP-08')).toMatchObject({ seen: 1, figures: { cnpsWithNaks: 1 } });
  });

  it('prove nothing when there are none, and silence without a mark is right', () => {
    const [flow] = FLOWS;
    if (flow === undefined) throw new Error('there are flows');
    expect(of(check(mark(new Scene(), flow)), 'CNP-07').seen).toBe(0);
    expect(of(check(new Scene()), 'CNP-05').seen).toBe(1);
  });
});
