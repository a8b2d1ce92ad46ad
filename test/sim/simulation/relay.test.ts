/**
 * Goal: a flow that relays sends nothing before it has it, and nothing later than it could. Method: the time of rings
 * and chains on an empty network, computed by hand: a step is a message on the wire and the way of its last packet.
 */
import { describe, expect, it } from 'vitest';
import { Prng } from '../../../src/ground/prng.ts';
import { type SimulationOptions, simulate } from '../../../src/sim/simulation/index.ts';
import { star } from '../../../src/sim/topology/index.ts';
import { type Flow, ringAllReduce } from '../../../src/sim/traffic/index.ts';

const LINK = { rateBps: 100e9, delayNs: 1_000 };
/** Nanoseconds of a full packet of 1,024 bytes, and of an ACK. */
const FRAME_NS = (14 + 20 + 8 + 12 + 1_024 + 4) * 0.08;
const ACK_NS = 62 * 0.08;
const PACKETS = 100;
const MESSAGE = PACKETS * 1_024;
/** From the begin of a message to its arrival as a whole: over two links, of which the second repeats one packet. */
const STEP_NS = PACKETS * FRAME_NS + FRAME_NS + 2 * LINK.delayNs;
/** The way of an ACK. */
const BACK_NS = 2 * (ACK_NS + LINK.delayNs);

function simulated(hosts: number, flows: readonly Flow[], more: Partial<SimulationOptions> = {}) {
  // One ACK a message: those of what comes in share the link with what goes out.
  const host = { ackEveryPackets: PACKETS };
  return simulate({ seed: 1, topology: star({ hosts, link: LINK }), flows, host, ...more });
}

function ringOf(hosts: number, late = 0): Flow[] {
  const flows = ringAllReduce({ hosts, bytes: hosts * MESSAGE }, new Prng(1));
  return flows.map((flow) => (flow.src === 0 ? { ...flow, startNs: late } : flow));
}

describe('a ring', () => {
  it.each([2, 3, 8])('of %d hosts takes 2 (n - 1) steps, each with the delay of the network', (hosts) => {
    const { flows, endNs, dataPackets } = simulated(hosts, ringOf(hosts));
    const steps = 2 * (hosts - 1);
    expect(flows.map(({ status }) => status)).toEqual(flows.map(() => 'done'));
    expect(dataPackets).toBe(hosts * steps * PACKETS);
    // An ACK that goes the way of data may wait for a packet, or have one wait.
    expect(Math.abs(endNs - (steps * STEP_NS + BACK_NS)) / steps).toBeLessThan(2 * FRAME_NS);
  });

  it('waits as a whole for the host that begins late', () => {
    const late = 500_000;
    const { flows } = simulated(4, ringOf(4, late));
    // The last host gets what the first one has at the end of the third step, and needs three more.
    for (const { endNs = 0 } of flows) expect(endNs).toBeGreaterThan(late + 3 * STEP_NS);
    const soonest = simulated(4, ringOf(4)).endNs;
    expect(Math.max(...flows.map(({ endNs = 0 }) => endNs))).toBeLessThan(late + soonest + STEP_NS);
  });

  it('is slower than flows of the same bytes that wait for nothing', () => {
    const free = ringOf(4).map(({ relay: _, ...flow }) => flow);
    const { endNs } = simulated(4, free);
    expect(endNs).toBeLessThan(6 * PACKETS * FRAME_NS * 1.05 + 5_000);
    expect(simulated(4, ringOf(4)).endNs).toBeGreaterThan(endNs + 5 * 2 * LINK.delayNs - 5 * FRAME_NS);
  });

  it('has more messages than are posted ahead', () => {
    const flows = ringAllReduce({ hosts: 2, bytes: 2 * 1_024 }, new Prng(1)).map((flow) => ({ ...flow, bytes: 2e6 }));
    expect(simulated(2, flows).flows.map(({ status }) => status)).toEqual(['done', 'done']);
  });

  it('loses no step when packets are lost', () => {
    const { flows, network } = simulated(3, ringOf(3), { loss: 0.001, seed: 3 });
    expect(network.lost).toBeGreaterThan(0);
    expect(flows.map(({ status, deliveredBytes }) => [status, deliveredBytes])).toEqual(
      flows.map(() => ['done', 4 * MESSAGE]),
    );
  });
});

describe('a chain', () => {
  const chain = [0, 1, 2].map((src): Flow => {
    const bytes = 3 * MESSAGE;
    return { src, dst: src + 1, bytes, messageBytes: MESSAGE, startNs: 0, operation: 'send', relay: 'chain' };
  });

  it('begins without being told: its first flow waits for nobody, the others for all but their first message', () => {
    const [first, second, third] = simulated(4, chain).flows;
    expect(Math.abs((first?.fctNs ?? 0) - (3 * PACKETS * FRAME_NS + FRAME_NS + 2_000 + BACK_NS))).toBeLessThan(
      FRAME_NS,
    );
    // The second posts its last message when the second of the first one has come.
    const whole = 2 * PACKETS * FRAME_NS + FRAME_NS + 2_000 + STEP_NS + BACK_NS;
    expect(Math.abs((second?.fctNs ?? 0) - whole)).toBeLessThan(3 * FRAME_NS);
    expect(third?.fctNs).toBeGreaterThan((second?.fctNs ?? 0) - FRAME_NS);
  });

  it('is not the one of another name', () => {
    const apart = chain.map((flow, index) => ({ ...flow, relay: `chain ${index}` }));
    const times = simulated(4, apart).flows.map(({ fctNs = 0 }) => fctNs);
    expect(Math.max(...times) - Math.min(...times)).toBeLessThan(2 * FRAME_NS);
  });

  it('has messages of its own length, whatever its hosts send otherwise', () => {
    const times = [MESSAGE / 4, MESSAGE, 8 * MESSAGE].map((messageBytes) =>
      simulated(4, chain, { host: { ackEveryPackets: PACKETS, messageBytes } }).flows.map(({ fctNs }) => fctNs),
    );
    expect(times).toEqual(times.map(() => simulated(4, chain).flows.map(({ fctNs }) => fctNs)));
  });

  it('is none with a flow that relays nothing, whatever its name', () => {
    const late: Flow = { src: 3, dst: 0, bytes: MESSAGE, startNs: 1e6, operation: 'send' };
    const [first] = simulated(4, [...chain.map((flow) => ({ ...flow, relay: 'undefined' })), late]).flows;
    expect(first?.endNs).toBeLessThan(1e6);
  });

  const refused: readonly (readonly [string, Partial<Flow>, string])[] = [
    ['that writes', { operation: 'write' }, 'flows[1] relays: its operation is send'],
    ['of other messages', { messageBytes: 3 * MESSAGE }, 'flows[1]: flows of relay chain have as many messages'],
    ['without an end', { bytes: Infinity, stopNs: 10 }, 'flows[1] relays: it has bytes and messageBytes'],
    ['of less than a message', { messageBytes: 4 * MESSAGE }, 'flows[1] relays: it has bytes and messageBytes'],
    ['of no bytes a message', { messageBytes: 0 }, 'flows[1].messageBytes is 0'],
    ['from where another begins', { src: 0, dst: 3 }, 'flows[1]: two flows of relay chain from 0'],
    ['to where another ends', { src: 3, dst: 1 }, 'flows[1]: two flows of relay chain to 1'],
  ];
  for (const [which, change, why] of refused)
    it(`with a flow ${which} is refused`, () => {
      const flows = chain.map((flow, index) => (index === 1 ? { ...flow, ...change } : flow));
      expect(() => simulated(4, flows)).toThrow(why);
    });
});
