/**
 * `npm run soak -- connects`: thousands of connections with rdma_rxe in a guest, made and ended in both directions, and
 * nothing left of them on either side. The guest runs cmtime of rdmacm-utils, as client and as server, which connects
 * many at the same time; we count our tables, heap and file descriptors, and what the guest's kernel lists. Owns the
 * cycles and the comparison; `guest-stage.ts` boots.
 */
import type { Connection, Device, Qp } from 'rocev2';
import { RoceError } from 'rocev2/packets';
import { leftOver } from './left-over.ts';
import { type Growth, growth, type MemoryPoint, memoryPoint } from './memory.ts';
import { SoakFault } from './station.ts';

/** A command in the guest. */
export interface GuestShell {
  run(command: string, options?: { timeoutMs?: number }): Promise<{ code: number; stdout: string; stderr: string }>;
  spawn(command: string): { kill(): Promise<unknown> };
}

export interface ConnectsOptions {
  readonly device: Device;
  readonly guest: GuestShell;
  /** Addresses of both ends, IPv4 or IPv6. */
  readonly ours: string;
  readonly theirs: string;
  /** Connections, in both directions together; a multiple of twice `batch`. */
  readonly cycles: number;
  /** Open at the same time, 1 or more. */
  readonly batch: number;
  readonly say?: (line: string) => void;
}

export interface ConnectsFigures {
  /** Connections that the guest made, and that we made. */
  readonly fromGuest: number;
  readonly fromUs: number;
  readonly seconds: number;
  readonly memory: readonly MemoryPoint[];
  readonly growth: Growth;
  /** What the guest's kernel lists, before and after. */
  readonly guest: { readonly before: string; readonly after: string };
  /** What does not hold; none in a good run. */
  readonly faults: readonly string[];
}

/** Runs the cycles, one batch in each direction after the other. */
export async function soakConnects(options: ConnectsOptions): Promise<ConnectsFigures> {
  const { device, guest, ours, theirs, cycles, batch, say } = options;
  const before = await resources(guest);
  const began = performance.now();
  const memory: MemoryPoint[] = [];
  const faults: string[] = [];
  const server = new Server(device);
  const served = guest.spawn(`exec cmtime -b ${theirs} -p ${THEIR_PORT} -c ${batch}`);
  let fromUs = 0;
  try {
    await guest.run(`until rdma resource show cm_id | grep LISTEN | grep -q ':${THEIR_PORT} '; do sleep 0.1; done`);
    const rounds = Math.ceil(cycles / (2 * batch));
    for (let round = 0; round < rounds; round++) {
      const client = await guest.run(`cmtime -s ${ours} -p ${OUR_PORT} -c ${batch}`, { timeoutMs: CMTIME_MS });
      if (client.code !== 0) throw new SoakFault(`cmtime ended with ${client.code}: ${client.stderr.trim()}`);
      await server.idle();
      fromUs += await callMany(device, theirs, batch);
      if (Math.floor(((round + 1) * POINTS) / rounds) <= memory.length) continue;
      const point = memoryPoint((round + 1) / rounds);
      memory.push(point);
      const held = `${(point.bytes / 1024).toFixed(0)} KiB, ${point.objects} objects, ${point.descriptors} descriptors`;
      const seconds = ((performance.now() - began) / 1000).toFixed(0);
      say?.(`${server.taken + fromUs} of ${cycles}, ${seconds} s: ${held}; the guest: ${await resources(guest)}`);
    }
  } finally {
    await served.kill();
    server.close();
  }
  await timewaitOver(device);
  const seconds = (performance.now() - began) / 1000;
  const after = await settled(guest, before);
  if (after !== before) faults.push(`the guest has ${after}, before ${before}`);
  if (server.taken !== fromUs) faults.push(`${server.taken} connections came from the guest, ${fromUs} went to it`);
  faults.push(...leftOver(device), ...server.faults);
  const guestResources = { before, after };
  return { fromGuest: server.taken, fromUs, seconds, memory, growth: growth(memory), guest: guestResources, faults };
}

/** Accepts every connection, and destroys its queue pair when it has ended. */
class Server {
  taken = 0;
  readonly faults: string[] = [];
  readonly #device: Device;
  readonly #listener: ReturnType<Device['cm']['listen']>;
  readonly #maker: Maker;
  #open = 0;
  #idle: (() => void)[] = [];

  constructor(device: Device) {
    this.#device = device;
    this.#maker = new Maker(device);
    this.#listener = device.cm.listen(OUR_PORT);
    void this.#serve();
  }

  /** Resolves when no connection is open. */
  idle(): Promise<void> {
    return this.#open === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  close(): void {
    this.#listener.close();
    this.#maker.free();
  }

  async #serve(): Promise<void> {
    for await (const request of this.#listener) {
      this.#open += 1;
      const qp = this.#maker.make();
      request
        .accept({ qp })
        .then((connection) => {
          this.taken += 1;
          return connection.closed;
        })
        .catch((error: unknown) => {
          if (!(error instanceof RoceError)) throw error;
          this.faults.push(`${this.#device.name} could not accept: ${error.message}`);
        })
        .finally(() => this.#ended(qp));
    }
  }

  #ended(qp: Qp): void {
    qp.destroy();
    this.#open -= 1;
    if (this.#open === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}

/** Makes queue pairs of one protection domain and one completion queue. */
class Maker {
  readonly #device: Device;
  readonly #pd: ReturnType<Device['allocPd']>;
  readonly #cq: ReturnType<Device['createCq']>;

  constructor(device: Device) {
    this.#device = device;
    this.#pd = device.allocPd();
    this.#cq = device.createCq(16);
  }

  make(): Qp {
    return this.#pd.createQp({ sendCq: this.#cq, recvCq: this.#cq, maxSendWr: 1, maxRecvWr: 1, maxSge: 1 });
  }

  free(): void {
    this.#device.destroyCq(this.#cq);
    this.#pd.dealloc();
  }
}

/** Connects `count` queue pairs at the same time, then ends all of them. */
async function callMany(device: Device, address: string, count: number): Promise<number> {
  const maker = new Maker(device);
  const qps = Array.from({ length: count }, () => maker.make());
  const connecting = qps.map((qp) =>
    device.cm.connect({ address, port: THEIR_PORT, qp, initiatorDepth: 1, responderResources: 1 }),
  );
  const connections: Connection[] = await Promise.all(connecting);
  const causes = await Promise.all(connections.map((connection) => connection.disconnect()));
  for (const qp of qps) qp.destroy();
  maker.free();
  const unanswered = causes.filter((cause) => cause === 'timeout').length;
  if (unanswered > 0) throw new SoakFault(`${unanswered} disconnections were never answered`);
  return count;
}

/** What the guest's kernel lists of its device, without what names it: 'pd 1 cq 1 qp 1 cm_id 0 mr 0 ctx 0 srq 0'. */
async function resources(guest: GuestShell): Promise<string> {
  const { stdout } = await guest.run('rdma resource show');
  return stdout.trim().replace(/^.*?: rxe0: /, '');
}

/** The same, when it is `wanted` or 30 s are over: the kernel frees what a dead program had by and by. */
async function settled(guest: GuestShell, wanted: string): Promise<string> {
  let now = await resources(guest);
  for (let tries = 0; now !== wanted && tries < 30; tries++) {
    await guest.run('sleep 1');
    now = await resources(guest);
  }
  return now;
}

/** Resolves when no connection of ours is in TIMEWAIT. Its deadlines wake the device; this only looks. */
async function timewaitOver(device: Device): Promise<void> {
  const limit = performance.now() + TIMEWAIT_LIMIT_MS;
  while (device.tables().connections > 0 && performance.now() < limit)
    await new Promise((resolve) => setTimeout(resolve, 50));
}

const OUR_PORT = 7471;
const THEIR_PORT = 7472;
const POINTS = 10;
const CMTIME_MS = 300_000;
const TIMEWAIT_LIMIT_MS = 30_000;
