/**
 * Goal: a trace is what passed the bump, a trace with holes is known for one, and counters are held against it. Method:
 * traces made by hand, and captures of the bump in virtual time.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { counterCheck, type RunFacts, readTrace, traceFault } from '../../../../tools/conformance/lumina/checks.ts';
import { inProcessTestbeds } from '../../../../tools/conformance/lumina/in-process.ts';
import { play } from '../../../../tools/conformance/lumina/play.ts';
import { type LossScenario, rulesFor, SCENARIOS } from '../../../../tools/conformance/lumina/scenario.ts';
import { injectedActions } from '../../../../tools/conformance/lumina/trace.ts';
import { brokenOf, connectionOf, FIRST, of, Scene } from './scene.ts';

describe('comments of the bump', () => {
  it.each([
    ['dropped by "rule 1"; connection 1; PSN 3 of the connection', ['dropped']],
    ['dropped: the queue is full', ['dropped']],
    ['duplicated (1 more) by "x", marked CE by chance', ['duplicated', 'marked']],
    ['corrupted (bit 31) by "dropped, and marked CE"', ['corrupted']],
    ['held back behind 2 by "a"', ['held back']],
    ['came in as frame 3', []],
  ])('say what was done: %s', (comment, deeds) => {
    expect(injectedActions([comment])).toEqual(deeds);
  });
});

const FACTS: Pick<RunFacts, 'connections'> = { connections: [connectionOf(3)] };

describe('a trace', () => {
  it('is whole when each packet arrives, or was taken away on purpose', () => {
    const scene = new Scene().sends(0, 1).send(2, { deed: 'dropped' }).send(2, { deed: 'corrupted' }).sends(2).acks(2);
    expect(traceFault(scene.trace, { ...FACTS, injected: 2 })).toBeUndefined();
  });

  it('is worth nothing when a packet is missing that nobody took away', () => {
    const scene = new Scene().sends(0, 1, 2);
    const packets = scene.packets.filter(({ number }) => number !== 4);
    expect(traceFault({ ...scene.trace, packets }, FACTS)).toContain('came to the bump and is nowhere else');
  });

  it('is worth nothing when the bump did not do what it was to do', () => {
    expect(traceFault(new Scene().sends(0).trace, { ...FACTS, injected: 1 })).toBe(
      'the bump was to touch 1 packets, and touched 0',
    );
  });

  it('is worth nothing when nothing came', () => {
    expect(traceFault(new Scene().trace, FACTS)).toBe('nothing came from end a');
  });
});

describe('counters', () => {
  const scene = new Scene().sends(0).send(1, { deed: 'dropped' }).sends(2).naks(1).sends(1, 2, 2).acks(2);
  const before = { out_of_seq_request: 5, duplicate_request: 7, rcvd_pkts: 100, other: 3 };
  const check = (after: Record<string, number>, end: 'a' | 'b' = 'b') =>
    counterCheck(scene.trace, end, { before, after, connections: [connectionOf(3)], timeouts: 0 });

  it('are right when they rise by what the trace has', () => {
    const results = check({ out_of_seq_request: 6, duplicate_request: 8, rcvd_pkts: 105, other: 99 });
    expect(brokenOf(results)).toEqual([]);
    expect(results.map((one) => one.check)).toEqual([
      'counter rcvd_pkts',
      'counter out_of_seq_request',
      'counter duplicate_request',
    ]);
  });

  it('are wrong one by one when they stand still or run ahead', () => {
    const results = check({ out_of_seq_request: 5, duplicate_request: 9, rcvd_pkts: 105 });
    expect(brokenOf(results)).toEqual(['counter out_of_seq_request', 'counter duplicate_request']);
    expect(of(results, 'counter out_of_seq_request').difference).toBe(
      'out_of_seq_request rose by 0, and the trace has 1',
    );
  });

  it('of the sender are other ones', () => {
    const asked = { rcvd_seq_err: 1, retransmitted_pkts: 3, sent_pkts: 6, local_ack_timeout_err: 0 };
    expect(brokenOf(check(asked, 'a'))).toEqual([]);
    expect(brokenOf(check({ ...asked, rcvd_seq_err: 0, local_ack_timeout_err: 1 }, 'a'))).toEqual([
      'counter rcvd_seq_err',
      'counter local_ack_timeout_err',
    ]);
  });
});

describe('counters of messages and of retries', () => {
  it('rise once for each SEND, however often its last packet passed, and for each time that the sender went back', () => {
    const last = (scene: Scene, way: 'sent' | 'got', psn: number) =>
      scene.put({ end: way === 'sent' ? 'a' : 'b', way, opcode: Op.SendOnly, psn: FIRST + psn, destQpn: 34 });
    const scene = new Scene();
    for (const psn of [0, 1, 1]) last(last(scene, 'sent', psn), 'got', psn);
    const options = { before: {}, connections: [connectionOf(2)], goesBack: 1 };
    const counted = (end: 'a' | 'b', after: Record<string, number>) =>
      brokenOf(counterCheck(scene.trace, end, { ...options, after }));
    expect(counted('a', { rdma_sends: 2, rdma_recvs: 0, completer_retry_err: 1 })).toEqual([]);
    expect(counted('b', { rdma_sends: 0, rdma_recvs: 2, duplicate_request: 1 })).toEqual([]);
    expect(counted('a', { rdma_sends: 3, completer_retry_err: 0 })).toHaveLength(2);
    expect(counted('b', { rdma_recvs: 3 })).toEqual(['counter rdma_recvs']);
  });
});

/** What a run was, from its capture. */
async function played(name: string) {
  const scenario = SCENARIOS.find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  const stage = await inProcessTestbeds(1).open(rulesFor(scenario, 'a'));
  return play(stage, scenario, 'a');
}

describe('the capture of a bump', () => {
  it('tells what each end sent and got, and what was done in between', async () => {
    const { packets, injections } = readTrace((await played('write, middle packet lost')).capture);
    const at = (end: string, way: string) => packets.filter((one) => one.end === end && one.way === way).length;
    expect(injections.map(({ deeds }) => deeds)).toEqual([['dropped']]);
    expect(at('b', 'got')).toBe(at('a', 'sent') - 1);
    expect(at('a', 'got')).toBe(at('b', 'sent'));
    expect(packets.filter(({ syndrome }) => syndrome === 0x60)).toHaveLength(2);
  });

  it('tells a damaged packet from a whole one', async () => {
    const { packets } = readTrace((await played('read, a packet damaged')).capture);
    expect(packets.filter(({ whole }) => !whole)).toMatchObject([{ end: 'a', way: 'got' }]);
  });

  it('turns around when the other end asks', () => {
    const scenario = SCENARIOS.find((one) => one.name === 'write, NAK lost') as LossScenario;
    const directions = rulesFor(scenario, 'b').map(({ on }) => on.direction);
    expect(directions).toEqual(['b-to-a', 'a-to-b']);
  });
});
