/**
 * Programs on the ABI of uverbs and rdma_cm that do what they like: commands, rings, doorbells. An input is a list of
 * records. The lower three bits of its flags say what one is: 0, 1, 5: a command of uverbs; 2: of rdma_cm; 3: bytes for
 * a ring (number of the ring 1 | where 2 | bytes); 4: a doorbell; 6, 7: time passes, 1 ms and 10 s. The next two bits
 * are the client's file. Words that stand for the keys and the numbers of queue pairs that were given out, in their
 * order, are replaced by these (`Mark`), so that what was recorded of real programs means the same again.
 *
 * Every command gets an errno, nothing is thrown, memory is touched where it is registered, a client that does nothing
 * keeps its memory and its queue pair, and all is gone with the files. The seeds are recordings (record-uverbs.ts).
 */
import { CREATE_QP, CREATE_QP_RESP, QUERY_QP, QUERY_QP_RESP } from '../../../src/uverbs/abi/queues.ts';
import { RXE_CREATE_CQ_RESP, RXE_CREATE_QP_RESP } from '../../../src/uverbs/abi/rxe.ts';
import * as V from '../../../src/uverbs/abi/verbs.ts';
import type { CommandResult } from '../../../src/uverbs/index.ts';
import { readCorpus } from '../engine/corpus.ts';
import { unpackRecords } from '../engine/records.ts';
import { type FuzzTarget, promise } from '../engine/target.ts';
import { ServedDevice } from './support/served-device.ts';
import { Kind, MARKED, Mark, newKeys, newQpns } from './support/uverbs-records.ts';

const MOST_RECORDS = 200;
const GUARD = 0xa5;
/** A client that is there before all others. */
const BYSTANDER = 9;

async function run(input: Uint8Array): Promise<string> {
  const served = new ServedDevice();
  const bystander = await stand(served);
  const given = { [Mark.Key]: [] as number[], [Mark.Qpn]: [] as number[] };
  const counts = { ok: 0, refused: 0 };
  const note = (errno: number): void => {
    promise(Number.isInteger(errno) && errno >= 0 && errno < 134, 'every command gets an errno');
    counts[errno === 0 ? 'ok' : 'refused'] += 1;
  };
  for (const { flags, bytes } of unpackRecords(input).slice(0, MOST_RECORDS)) {
    const file = served.uverbs((flags >> 3) & 3);
    replaceMarks(bytes, given);
    switch (flags & 7) {
      case Kind.RdmaCm:
        note((await settled(served, served.rdmaCm((flags >> 3) & 3).command(bytes))).errno);
        break;
      case Kind.Ring: {
        const ring = file.rings[bytes[0] ?? 0];
        if (bytes.length < 3 || ring === undefined || file.freed.has(ring)) break;
        const at = ((bytes[1] ?? 0) | ((bytes[2] ?? 0) << 8)) % ring.bytes.length;
        ring.bytes.set(bytes.subarray(3, 3 + ring.bytes.length - at), at);
        break;
      }
      case Kind.Doorbell:
        if (bytes.length >= 4) file.file.doorbell(new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true));
        break;
      case Kind.Time:
        served.world.runFor(1e6);
        break;
      case Kind.LongTime:
        served.world.runFor(1e10);
        break;
      default: {
        const result = await settled(served, file.command(bytes));
        note(result.errno);
        given[Mark.Key].push(...newKeys(bytes, result));
        given[Mark.Qpn].push(...newQpns(bytes, result));
      }
    }
  }
  await bystander.unharmed();
  await served.end();
  return `${magnitude(counts.ok)} done, ${magnitude(counts.refused)} refused`;
}

async function settled(served: ServedDevice, result: CommandResult | Promise<CommandResult>): Promise<CommandResult> {
  return result instanceof Promise ? served.world.run(result) : result;
}

/** A client with memory and a queue pair. */
async function stand(served: ServedDevice): Promise<{ unharmed(): Promise<void> }> {
  const file = served.uverbs(BYSTANDER);
  for (const bytes of settingUp()) promise((await file.command(bytes)).errno === 0, 'it is set up');
  file.memory.bytes.fill(GUARD);
  const query = async (): Promise<string> => {
    const { errno, response } = await file.command(
      command(25, QUERY_QP.size, QUERY_QP_RESP.size, [[QUERY_QP.at.qp_handle, 4]]),
    );
    promise(errno === 0, 'the queue pair of a client that does nothing is there');
    return response.join();
  };
  const before = await query();
  return {
    async unharmed() {
      promise(
        file.memory.bytes.every((byte) => byte === GUARD),
        'memory of a client that does nothing stays as it is',
      );
      promise((await query()) === before, 'the queue pair of a client that does nothing stays as it is');
    },
  };
}

/** Handles of what it makes are 1 to 4: a domain, a region, a completion queue, a queue pair. */
function settingUp(): Uint8Array[] {
  const { pd_handle, start, hca_va, length, access_flags } = V.REG_MR.at;
  const qp = CREATE_QP.at;
  const memory = [
    [start, 4096],
    [hca_va, 4096],
    [length, 4096],
    [pd_handle, 1],
    [access_flags, 1],
  ] as const;
  const sizes = [qp.max_send_wr, qp.max_recv_wr, qp.max_send_sge, qp.max_recv_sge].map((at) => [at, 1] as const);
  const queues = [
    [qp.pd_handle, 1],
    [qp.send_cq_handle, 3],
    [qp.recv_cq_handle, 3],
    [qp.qp_type, 2],
  ] as const;
  const cq = [
    [V.CREATE_CQ.at.cqe, 8],
    [V.CREATE_CQ.at.comp_channel, 0xff_ff_ff_ff],
  ] as const;
  return [
    command(0, V.GET_CONTEXT.size, V.GET_CONTEXT_RESP.size, []),
    command(3, V.ALLOC_PD.size, V.ALLOC_PD_RESP.size, []),
    command(9, V.REG_MR.size, V.REG_MR_RESP.size, memory),
    command(18, V.CREATE_CQ.size, V.CREATE_CQ_RESP.size + RXE_CREATE_CQ_RESP.size, cq),
    command(24, CREATE_QP.size, CREATE_QP_RESP.size + RXE_CREATE_QP_RESP.size, [...sizes, ...queues]),
  ];
}

/** A command of the plain form: numbers of its structure by their offsets, small ones as one byte. */
function command(
  number: number,
  request: number,
  room: number,
  words: readonly (readonly [number, number])[],
): Uint8Array {
  const bytes = new Uint8Array(8 + request);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, number, true);
  view.setUint16(4, bytes.length / 4, true);
  view.setUint16(6, Math.ceil(room / 4), true);
  for (const [at, value] of words) {
    if (value < 256) view.setUint8(8 + at, value);
    else view.setUint32(8 + at, value, true);
  }
  return bytes;
}

function replaceMarks(bytes: Uint8Array, given: Readonly<Record<number, readonly number[]>>): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // At any place: those of a ring begin behind its number.
  for (let at = 0; at + 4 <= bytes.length; at++) {
    const word = view.getUint32(at, true);
    const values = given[(word & MARKED) >>> 0];
    if (values === undefined || values.length === 0) continue;
    view.setUint32(at, values[(word & 0xff) % values.length] ?? 0, true);
  }
}

const magnitude = (count: number): string => (count === 0 ? 'none' : count < 10 ? 'few' : 'many');

export const target: FuzzTarget = {
  name: 'uverbs',
  records: true,
  maxBytes: 40_000,
  maxSteps: 20_000_000,
  seeds: () => readCorpus('uverbs-programs'),
  run,
};
