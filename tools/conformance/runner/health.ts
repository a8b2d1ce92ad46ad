/** Whether a real device still does the simplest thing, after something went wrong: a fresh queue pair that acknowledges a WRITE of no bytes. */

import { HandsError } from '../hands/hands.ts';
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
    await peer.stillExpects(0, 1);
    await t.end();
    return true;
  } catch (error) {
    if (error instanceof Violation || error instanceof Inconclusive || error instanceof HandsError) return false;
    throw error;
  }
}
