/**
 * `npx tsx test/fuzz/record-uverbs.ts`: runs programs of others under the shim, and writes what they have sent, commands
 * and rings and doorbells, to `corpus/uverbs-programs.corpus`: the seeds of the target `uverbs`. Needs what the tests
 * name `verbs`. Keys and queue pair numbers become marks (targets/support/uverbs-records.ts).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDevice } from '../../src/index.ts';
import { serveUverbs } from '../../src/node/uverbs/serve.ts';
import type {
  CommandResult,
  RdmaCmFile,
  RdmaCmFileHost,
  SharedRing,
  UverbsFile,
  UverbsFileHost,
  UverbsServer,
} from '../../src/uverbs/host.ts';
import { createUverbsServer } from '../../src/uverbs/index.ts';
import { buildShim } from '../../tools/uverbs/build.ts';
import { runOne, runPair } from '../../tools/uverbs/run.ts';
import { writeCorpus } from './engine/corpus.ts';
import { type InputRecord, packRecords } from './engine/records.ts';
import { Kind, Mark, newKeys, newQpns } from './targets/support/uverbs-records.ts';

const PROGRAMS: readonly (readonly [string] | readonly [string, string])[] = [
  ['ibv_devinfo -v'],
  ['ibv_rc_pingpong -g 1 -n 3 -e', 'ibv_rc_pingpong -g 1 -n 3 -e localhost'],
  ['ibv_uc_pingpong -g 1 -n 3 -e', 'ibv_uc_pingpong -g 1 -n 3 -e localhost'],
  ['ibv_ud_pingpong -g 1 -n 3 -e', 'ibv_ud_pingpong -g 1 -n 3 -e localhost'],
  ['ibv_srq_pingpong -g 1 -n 3 -q 2 -e', 'ibv_srq_pingpong -g 1 -n 3 -q 2 -e localhost'],
  ['rping -s -C 2 -a 10.0.0.1', 'rping -c -C 2 -a 10.0.0.1'],
  ['udaddy -c 1 -C 2', 'udaddy -c 1 -C 2 -s 10.0.0.1'],
  ['ucmatose -c 1 -C 2', 'ucmatose -c 1 -C 2 -s 10.0.0.1'],
  ['mckey -m 239.1.1.1 -b 10.0.0.1 -C 1', 'mckey -m 239.1.1.1 -s -b 10.0.0.1 -C 1'],
  ['ib_send_bw -n 5 -F -s 64 -e', 'ib_send_bw -n 5 -F -s 64 -e localhost'],
  ['ib_read_bw -n 5 -F -s 64 -e', 'ib_read_bw -n 5 -F -s 64 -e localhost'],
  ['ib_atomic_bw -n 5 -F -e', 'ib_atomic_bw -n 5 -F -e localhost'],
];
/** What is written of a change of a ring, and of all of a program. */
const MOST_CHANGED_BYTES = 600;
const MOST_RECORDS = 180;

/** A server that writes down what comes, and has another one do it. */
class Recorder implements UverbsServer {
  readonly records: InputRecord[] = [];
  readonly #server: UverbsServer;
  readonly #given = new Map<number, number>();
  #counts = { keys: 0, qpns: 0 };
  #files = 0;
  #cmFiles = 0;

  constructor(server: UverbsServer) {
    this.#server = server;
  }

  openUverbs(host: UverbsFileHost): UverbsFile {
    const bits = (this.#files++ & 3) << 3;
    const rings: { ring: SharedRing; shadow: Uint8Array }[] = [];
    // Its methods use private members: they are called on it.
    const recording = new Proxy(host, {
      get: (of, name) => {
        const value: unknown = Reflect.get(of, name, of);
        if (typeof value !== 'function') return value;
        if (name !== 'allocate') return value.bind(of);
        return (length: number) => {
          const ring = of.allocate(length);
          if (ring !== undefined) rings.push({ ring, shadow: new Uint8Array(ring.bytes.length) });
          return ring;
        };
      },
    });
    const file = this.#server.openUverbs(recording);
    const changed = (): void => {
      for (const [index, { ring, shadow }] of rings.entries()) this.#changed(bits, index, ring.bytes, shadow);
    };
    return {
      command: (bytes) => {
        changed();
        this.#note(bits | Kind.Uverbs, bytes);
        const result = file.command(bytes);
        void Promise.resolve(result).then((done) => this.#learn(bytes, done));
        return result;
      },
      doorbell: (handle) => {
        changed();
        this.#note(bits | Kind.Doorbell, new Uint8Array(Uint32Array.of(handle).buffer));
        this.#note(bits | Kind.Time, new Uint8Array());
        file.doorbell(handle);
      },
      channelClosed: (channel) => file.channelClosed(channel),
      close: () => file.close(),
    };
  }

  openRdmaCm(host: RdmaCmFileHost): RdmaCmFile {
    const bits = (this.#cmFiles++ & 3) << 3;
    const file = this.#server.openRdmaCm(host);
    return {
      command: (bytes) => {
        this.#note(bits | Kind.RdmaCm, bytes);
        this.#note(bits | Kind.Time, new Uint8Array());
        return file.command(bytes);
      },
      close: () => file.close(),
    };
  }

  get refused(): number {
    return this.#server.refused;
  }

  get refusals(): ReadonlyMap<string, number> {
    return this.#server.refusals;
  }

  sysfs(): ReadonlyMap<string, string> {
    return this.#server.sysfs();
  }

  #learn(bytes: Uint8Array, result: CommandResult): void {
    for (const key of newKeys(bytes, result)) this.#given.set(key, Mark.Key | (this.#counts.keys++ & 0xff));
    for (const qpn of newQpns(bytes, result)) this.#given.set(qpn, Mark.Qpn | (this.#counts.qpns++ & 0xff));
  }

  /** The span of a ring that is not what it was; its end is cut off where it is long. */
  #changed(bits: number, index: number, bytes: Uint8Array, shadow: Uint8Array): void {
    const first = shadow.findIndex((byte, at) => byte !== bytes[at]);
    if (first < 0 || first > 0xff_ff || index > 0xff) return;
    const last = shadow.findLastIndex((byte, at) => byte !== bytes[at]);
    const span = bytes.slice(first & ~3, Math.min(last + 1, first + MOST_CHANGED_BYTES));
    shadow.set(bytes);
    this.#note(bits | Kind.Ring, Uint8Array.of(index, first & 0xfc, first >> 8, ...this.#marked(span)));
  }

  #note(flags: number, bytes: Uint8Array): void {
    if (this.records.length >= MOST_RECORDS) return;
    this.records.push({ flags, bytes: (flags & 7) === Kind.Ring ? bytes : this.#marked(bytes) });
  }

  #marked(bytes: Uint8Array): Uint8Array {
    const copy = bytes.slice();
    const view = new DataView(copy.buffer);
    for (let at = 0; at + 4 <= copy.length; at += 4) {
      const mark = this.#given.get(view.getUint32(at, true));
      if (mark !== undefined) view.setUint32(at, mark, true);
    }
    return copy;
  }
}

const directory = mkdtempSync(join(tmpdir(), 'roce-record-'));
const shim = await buildShim();
const inputs: Uint8Array[] = [];
for (const [index, program] of PROGRAMS.entries()) {
  const { device, close } = await openDevice({ link: 'loopback:10.0.0.1/24' });
  const recorder = new Recorder(createUverbsServer(device));
  const served = await serveUverbs({ server: recorder, path: join(directory, `socket-${index}`) });
  const place = { shim, socket: served.path };
  const [first, second] = program;
  const code =
    second === undefined ? await runOne(first.split(' '), place) : await runPair([first, second], place, served);
  served.close();
  await close();
  console.error(`${first}: ${code}, ${recorder.records.length} records`);
  if (code === 0) inputs.push(packRecords(recorder.records));
}
rmSync(directory, { recursive: true });
writeCorpus('uverbs-programs', inputs);
process.exit();
