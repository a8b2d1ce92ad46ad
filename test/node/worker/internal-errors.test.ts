/**
 * Goal: an error of the stack itself is told alike wherever the stack runs: with its stack, its queue pair and its
 * frame. Method: a device in a worker thread, into which Node loads a file of the test first; that makes reading one
 * number fail there, and the peer sends it as a key.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { WrOpcode } from '../../../src/index.ts';
import { connectSides, openCable } from './support.ts';

const KEY = 0x5a_b0_7a_6e;

/** Runs in the worker only: in this thread the module is loaded by nobody. */
const PLANTED = `
const { getUint32 } = DataView.prototype;
DataView.prototype.getUint32 = function (...where) {
  const value = getUint32.apply(this, where);
  if (value === ${KEY}) throw new RangeError('a planted fault');
  return value;
};`;

it('an error of ours in a worker is an event, with its frame, and ends one queue pair', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'roce-planted-'));
  const file = join(folder, 'planted.cjs');
  writeFileSync(file, PLANTED);
  vi.stubEnv('NODE_OPTIONS', `--require ${file}`);
  const cable = await openCable('worker').finally(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });
  try {
    const [one, other] = [await connectSides(cable), await connectSides(cable)];
    const told = cable.ours.device.events.next();
    const sges = [{ mr: one.theirs.mr, length: 4 }];
    one.theirs.qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges, remoteAddr: 0n, rkey: KEY });
    const { value } = await told;
    const known = { kind: 'internal-error', during: 'receive', qpn: one.ours.qp.qpn };
    expect(value).toMatchObject({ ...known, error: expect.any(RangeError), frame: expect.any(Uint8Array) });
    if (typeof value !== 'object' || value.kind !== 'internal-error') throw new Error('another event');
    expect(String((value.error as Error).stack)).toMatch(/a planted fault.*frame-receiver.*in the worker thread/s);
    expect(Buffer.from(value.frame ?? []).includes(Buffer.from(KEY.toString(16), 'hex'))).toBe(true);
    expect(cable.ours.device.counters.internalErrors).toBe(1);
    // The others go on.
    other.ours.qp.postRecv({ wrId: 2, sges: [{ mr: other.ours.mr, length: 4 }] });
    const theirs = [{ mr: other.theirs.mr, length: 4 }];
    other.theirs.qp.postSend({ wrId: 3, opcode: WrOpcode.Send, sges: theirs });
    expect((await other.ours.cq.next()).value).toMatchObject({ wrId: 2, status: 0 });
  } finally {
    await cable.close();
  }
});
