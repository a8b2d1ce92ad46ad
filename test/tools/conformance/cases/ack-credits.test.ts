/**
 * Goal: the case on credits (ACK-11) can tell, although queue pairs of ours give credits only where the connection
 * manager has agreed on them. Method: a device whose queue pairs are told so behind the host control' back passes; one
 * that has a receive more than it was given does not.
 */
import { expect, it } from 'vitest';
import { ACK_RESPONDER_CASES } from '../../../../tools/conformance/cases/ack-responder.ts';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import type { HostCall, HostCalls, HostControl } from '../../../../tools/conformance/host-control/host-control.ts';
import { runCase } from '../../../../tools/conformance/runner/run-case.ts';
import { QpState } from '../../../../transport/qp-state.ts';

class CreditsDut extends InProcessDut {
  /** Receives that are posted beside each that is asked for. */
  extraReceives = 0;

  override get hostControl(): HostControl {
    const hostControl = super.hostControl;
    const after = async <C extends HostCall>(name: C, args: Readonly<HostCalls[C]['takes']>): Promise<void> => {
      if (name === 'qp.modify')
        for (const { core } of this.ours.queuePairs)
          if (core.state === QpState.Init) core.modify({ flowControl: true });
      if (name === 'qp.recv') for (let i = 0; i < this.extraReceives; i++) await hostControl.call(name, args);
    };
    return {
      description: hostControl.description,
      call: async (name, args) => {
        const given = await hostControl.call(name, args);
        await after(name, args);
        return given;
      },
      close: () => hostControl.close(),
    };
  }
}

async function credits(extraReceives: number): Promise<string> {
  const one = ACK_RESPONDER_CASES.find(({ rules }) => rules.includes('ACK-11'));
  if (one === undefined) throw new Error('there is no case for ACK-11');
  const dut = new CreditsDut({ seed: 1 });
  dut.extraReceives = extraReceives;
  const { verdict, reason, notes } = await runCase(dut, one, { seed: 1 });
  await dut.close();
  expect(notes).toEqual([]);
  return `${verdict} ${reason}`.trim();
}

it('passes a device whose codes say how many receives there are', async () => {
  expect(await credits(0)).toBe('pass');
});

it('fails a device whose codes say something else', async () => {
  expect(await credits(1)).toBe('fail with 1 receives credit code 1 was expected, and 2 came');
});
