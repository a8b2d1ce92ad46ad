/**
 * What a connected client measures: goodput and message rate of RC WRITEs, round trips of SENDs. Owns the loops, not
 * the connection.
 */
import { WcOpcode, WrOpcode } from 'rocev2/transport';
import { type Amount, type Figures, MESSAGE_BYTES, MESSAGE_SLOTS, type MeasuredTask, SMALL_BYTES } from './protocol.ts';
import type { RoceSession } from './roce-session.ts';
import { Interval, Samples } from './samples.ts';

/** Large messages under way: the window of packets is far shorter, so the wire never waits for the application. */
const OUTSTANDING = 4;
/** Small messages are posted so many at a time, of which the last one asks for a completion. */
const RATE_BATCH = 16;
const RATE_BATCHES = 8;

export function runTask(session: RoceSession, task: MeasuredTask, amount: Amount): Promise<Figures> {
  switch (task) {
    case 'goodput':
      return goodput(session, amount);
    case 'rate':
      return messageRate(session, amount);
    case 'roundTrip':
      return roundTrip(session, amount);
    case 'flood':
      throw new Error('a flood consists of datagrams without acknowledgement');
  }
}

/**
 * Acknowledged bytes between the first completion and the last: neither the first round trip nor an idle end counts.
 */
async function goodput(session: RoceSession, { seconds, least }: Amount): Promise<Figures> {
  const clock = new Interval(seconds);
  let posted = 0;
  const post = (): void => session.write(posted, (posted++ % MESSAGE_SLOTS) * MESSAGE_BYTES, MESSAGE_BYTES);
  while (posted < OUTSTANDING) post();
  let completed = 0;
  while (completed < posted) {
    await session.completions(({ opcode }) => {
      if (opcode !== WcOpcode.RdmaWrite) return;
      completed += 1;
      clock.tick(1);
      if (clock.running || completed + OUTSTANDING <= least) post();
    });
  }
  return { goodput: clock.rate * MESSAGE_BYTES };
}

/** Acknowledged WRITEs of a few bytes, posted in batches. */
async function messageRate(session: RoceSession, { seconds, least }: Amount): Promise<Figures> {
  const clock = new Interval(seconds);
  const inline = new Uint8Array(SMALL_BYTES).fill(0x64);
  const { qp, remoteAddr, rkey } = session;
  const silent = { wrId: 0, opcode: WrOpcode.RdmaWrite, inline, remoteAddr, rkey, signaled: false };
  const telling = { ...silent, signaled: true };
  let posted = 0;
  const post = (): void => {
    for (let i = 1; i < RATE_BATCH; i++) qp.postSend(silent);
    qp.postSend(telling);
    posted += 1;
  };
  while (posted < RATE_BATCHES) post();
  let completed = 0;
  while (completed < posted) {
    await session.completions(({ opcode }) => {
      if (opcode !== WcOpcode.RdmaWrite) return;
      completed += 1;
      clock.tick(1);
      if (clock.running || completed * RATE_BATCH < least) post();
    });
  }
  return { rate: clock.rate * RATE_BATCH };
}

/** One SEND, its echo, the next. */
async function roundTrip(session: RoceSession, { seconds, least }: Amount): Promise<Figures> {
  const samples = new Samples();
  const message = new Uint8Array(SMALL_BYTES).fill(0x72);
  const until = performance.now() + seconds * 1000;
  let began = performance.now();
  let echoed = false;
  const take = ({ opcode, wrId }: { readonly opcode: number; readonly wrId: number }): void => {
    if (opcode !== WcOpcode.Recv) return;
    const now = performance.now();
    samples.add(now - began);
    session.postReceive(wrId);
    echoed = true;
  };
  while (samples.count < least || performance.now() < until) {
    echoed = false;
    began = performance.now();
    session.send(message);
    while (!echoed) await session.completions(take);
  }
  return samples.figures();
}
