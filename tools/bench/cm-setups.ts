/**
 * Connections that are set up a second by the connection manager, both ends in this process: both queue pairs made,
 * REQ, REP and RTU over the network of the world, both queue pairs in RTS. Owns nothing that stays: what a round has
 * connected is destroyed after it was timed.
 */
import { attachDevice, type Device, type Qp, World } from 'rocev2';
import { Medium } from 'rocev2/packets';
import { QpState } from 'rocev2/transport';
import { type Bench, contest, scaled } from './bench.ts';

const CONNECTIONS = 5000;
/** Set up at the same time, as by an application that connects to many. */
const AT_ONCE = 64;
const WANTED = 5000;

export const cmSetupsBench: Bench = {
  name: 'cm-setups',
  title: 'connections set up a second by the connection manager',
  async run(settings) {
    const connections = scaled(CONNECTIONS, settings, AT_ONCE);
    return contest(this.name, settings, {
      unit: 'connections/s',
      peer: 'wanted',
      goal: { sense: '>=', ratio: 1 },
      ours: async () => connections / (await secondsToConnect(connections)),
      theirs: () => WANTED,
    });
  },
};

async function secondsToConnect(connections: number): Promise<number> {
  const world = new World({ seed: 1, medium: Medium.Ip });
  const device = (id: number): Device => attachDevice(world, `host${id}`, { addresses: [`10.0.0.${id}/24`] });
  const [a, b] = [device(1), device(2)];
  const [fromA, fromB] = [makerOfQps(a), makerOfQps(b)];
  const accepted: Qp[] = [];
  const serving = serve(b, fromB, accepted);
  const connected: Qp[] = [];
  const began = performance.now();
  while (connected.length < connections) {
    const some = Array.from({ length: Math.min(AT_ONCE, connections - connected.length) }, fromA);
    await world.run(Promise.all(some.map((qp) => a.cm.connect({ address: '10.0.0.2', port: PORT, qp }))));
    connected.push(...some);
  }
  const seconds = (performance.now() - began) / 1000;
  world.runFor(1e6);
  const ready = [...connected, ...accepted].filter(({ state }) => state === QpState.Rts).length;
  if (ready !== 2 * connections) throw new Error(`${ready} queue pairs of ${2 * connections} are connected`);
  serving.close();
  return seconds;
}

/** Accepts whoever comes. */
function serve(device: Device, newQp: () => Qp, accepted: Qp[]): { close(): void } {
  const listener = device.cm.listen(PORT);
  const accept = async (): Promise<void> => {
    for await (const request of listener) {
      const qp = newQp();
      accepted.push(qp);
      await request.accept({ qp });
    }
  };
  // A failure ends the process.
  void accept();
  return listener;
}

function makerOfQps(device: Device): () => Qp {
  const pd = device.allocPd();
  const cq = device.createCq(CQ_ENTRIES);
  return () => pd.createQp({ sendCq: cq, recvCq: cq });
}

const PORT = 7471;
const CQ_ENTRIES = 4096;
