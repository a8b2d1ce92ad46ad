/**
 * Whether a real device still does the simplest things, after something went wrong: a fresh queue pair that answers a
 * READ of no bytes, and a connection manager that refuses a request for an unknown service.
 */

import { HostControlError } from '../host-control/host-control.ts';
import type { Dut } from '../tester/dut.ts';
import { Inconclusive, Violation } from '../tester/outcome.ts';
import { Tester } from '../tester/tester.ts';

export async function isHealthy(dut: Dut): Promise<boolean> {
  return dut.gone === undefined && dut.run(serves(dut));
}

async function serves(dut: Dut): Promise<boolean> {
  const t = new Tester({ dut, seed: 1 });
  try {
    const peer = await t.connect();
    await peer.expectNextPsn(0, 1);
    const { hostControl } = dut;
    if (hostControl?.description.features.includes('cm') !== false) await (await t.cm()).sentinel();
    await t.end();
    return true;
  } catch (error) {
    if (error instanceof Violation || error instanceof Inconclusive || error instanceof HostControlError) return false;
    throw error;
  }
}
