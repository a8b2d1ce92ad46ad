/**
 * A device that is as bad as a test wants: our own stack, that says of itself to be real, and can die, hang, or lose
 * its host control.
 */
import { RoceError } from '../../../../packets/errors.ts';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import {
  type Feature,
  type HostControl,
  HostControlError,
} from '../../../../tools/conformance/host-control/host-control.ts';
import type { Dut, DutAddress } from '../../../../tools/conformance/tester/dut.ts';
import type { TesterStation } from '../../../../tools/conformance/tester/station.ts';

export class StubDut implements Dut {
  readonly name = 'stub';
  readonly device: string;
  readonly version = '6.1';
  readonly targetPort = 1;
  readonly throwAway = true;
  /** Real devices are looked at twice. */
  readonly virtual = false;
  readonly #inner = new InProcessDut({ seed: 3 });
  /** Set by a case: why it is gone. */
  gone: string | undefined;
  /** The agent answers no more. */
  deaf = false;
  /** How often it was exchanged, and how often it may be. */
  renewals = 0;
  renewalsMax = Infinity;

  constructor(device = 'rxe') {
    this.device = device;
  }

  get station(): TesterStation {
    return this.#inner.station;
  }

  get features(): readonly Feature[] {
    return this.#inner.features;
  }

  get hostControl(): HostControl {
    if (!this.deaf) return this.#inner.hostControl;
    const gone = (): never => {
      throw new HostControlError('gone', '', 'the agent does not answer');
    };
    return { description: this.#inner.hostControl.description, call: async () => gone(), close: async () => undefined };
  }

  get addresses(): readonly DutAddress[] {
    return this.#inner.addresses;
  }

  get patienceNs(): number {
    return this.#inner.patienceNs;
  }

  get quietNs(): number {
    return this.#inner.quietNs;
  }

  get pollNs(): number {
    return this.#inner.pollNs;
  }

  run<T>(promise: Promise<T>): Promise<T> {
    return this.#inner.run(promise);
  }

  async renew(): Promise<void> {
    this.renewals++;
    if (this.renewals > this.renewalsMax) throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', 'there is no other');
    await this.#inner.renew();
    this.gone = undefined;
    this.deaf = false;
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
