/**
 * What a case is given: connections with the device under test, the host control on its host, time, random numbers, and
 * texts for the report. Everything it makes is gone when the case ends. Owns handles and queue pair numbers of ours.
 */
import { Prng } from 'rocev2/sim';
import type { AsyncEvent, Feature, HostCompletion, HostControl, HostHandle } from '../host-control/host-control.ts';
import { HostControlError } from '../host-control/host-control.ts';
import { connectByCm } from './cm-connect.ts';
import { CmPort } from './cm-port.ts';
import { connectWithHostControl, type TesterConnectOptions } from './connect.ts';
import type { Dut, DutAddress } from './dut.ts';
import { ObservedHostControl } from './observed-host-control.ts';
import { demand, Inconclusive, NotApplicable } from './outcome.ts';
import type { Region, TesterPeer } from './peer.ts';
import { Witness } from './witness.ts';

export type { TesterConnectOptions } from './connect.ts';

export interface TesterOptions {
  readonly dut: Dut;
  /** Of all chance in the case. */
  readonly seed: number;
  /** What tells its chance from that of other cases. */
  readonly label?: string;
  /** Where our PSNs begin when a case does not say; default by chance, near the wrap. */
  readonly psn?: number | undefined;
}

export class Tester {
  readonly dut: Dut;
  readonly random: Prng;
  /** What is legal but worth telling: the verdict is then an allowed variation. */
  readonly variations: string[] = [];
  /** What a report should say beside the verdict. */
  readonly notes: string[] = [];
  readonly #premises = new Map<string, boolean>();
  readonly #takenBefore: number;
  #facts = 0;
  /** Where our PSNs begin unless a connection says otherwise. */
  readonly psn: number;
  readonly #peers: TesterPeer[] = [];
  readonly #endings: (() => Promise<void>)[] = [];
  #nextHandle = 1;
  #cm: CmPort | undefined;
  #witness: Witness | undefined;

  constructor(options: TesterOptions) {
    this.dut = options.dut;
    this.#takenBefore = options.dut.station.taken;
    this.random = new Prng(options.seed).fork(options.label ?? '');
    this.psn = options.psn ?? (0xff_ff_fe - this.random.below(4)) & 0xff_ff_ff;
  }

  /** The host control. @throws NotApplicable where there are none */
  get hostControl(): HostControl {
    return new ObservedHostControl(this.need(this.dut.hostControl), () => this.observe());
  }

  /** What only host control could have made. @throws NotApplicable when it is not there */
  need<T>(value: T | undefined): T {
    if (value === undefined) throw new NotApplicable('the device has no agent on its host');
    return value;
  }

  /** Whether the device can do that: as it says itself, or as `--features` says. */
  has(feature: Feature): boolean {
    return this.dut.features?.includes(feature) ?? false;
  }

  /** A handle that no object of the case has. */
  handle(): HostHandle {
    return this.#nextHandle++;
  }

  /**
   * A queue pair number of ours that is not in use and was not lately: what a device still sends to the one before is
   * not taken for an answer.
   */
  qpn(): number {
    return this.dut.station.nextQpn();
  }

  /**
   * Declares what has to happen for the case to prove anything, a sentence without its full stop; the function that
   * comes back is called when it does. A case that ends well without it is inconclusive (`unproven`).
   */
  premise(what: string): () => void {
    if (!this.#premises.has(what)) this.#premises.set(what, false);
    return () => this.#premises.set(what, true);
  }

  /** A fact of the device was seen that neither a packet nor an answer of its host control tells. */
  observe(): void {
    this.#facts++;
  }

  /** Why a case that found no fault has proven nothing; undefined where it has. */
  get unproven(): string | undefined {
    const missing = [...this.#premises].filter(([, occurred]) => !occurred).map(([what]) => what);
    if (missing.length > 0) return `its premise did not occur: ${missing.join('; ')}`;
    const facts = this.#facts + this.dut.station.taken - this.#takenBefore;
    return facts === 0 ? 'nothing of the device was observed' : undefined;
  }

  /** The device did something that is allowed and not usual: breaks a `should` or `may`, and fails a `must`. */
  variation(text: string): void {
    if (!this.variations.includes(text)) this.variations.push(text);
  }

  note(text: string): void {
    if (!this.notes.includes(text)) this.notes.push(text);
  }

  now(): number {
    return this.dut.station.now();
  }

  sleep(durationNs: number): Promise<void> {
    return this.dut.station.sleep(durationNs);
  }

  /**
   * The address of the device of that version; the first one by default. @throws NotApplicable when it has none
   */
  address(version?: 4 | 6): DutAddress {
    const found = this.dut.addresses.find(({ address }) => version === undefined || address.version === version);
    if (found === undefined) throw new NotApplicable(`the device has no IPv${version} address`);
    return found;
  }

  /**
   * Queue pair 1 of ours, until the case ends. @throws NotApplicable where the host control says that there is no
   * connection manager to talk to
   */
  async cm(): Promise<CmPort> {
    if (this.dut.hostControl !== undefined && !this.has('cm')) throw new NotApplicable('the device has no cm');
    this.#cm ??= await CmPort.open(this);
    return this.#cm;
  }

  /** Something to be done when the case has ended, however it did. */
  atEnd(ending: () => Promise<void>): void {
    this.#endings.push(ending);
  }

  /** A peer that did not come by `connect` goes with the case too. */
  adopt(peer: TesterPeer): TesterPeer {
    this.#peers.push(peer);
    return peer;
  }

  /**
   * A queue pair of the device connected to one of ours, with a region that we may reach: by the host control, or with
   * what listens at the device's target port. @throws Inconclusive when it cannot be brought up, NotApplicable for what
   * only host control could bring about
   */
  async connect(options: TesterConnectOptions = {}): Promise<TesterPeer> {
    try {
      const byHostControl = this.dut.hostControl !== undefined;
      return this.adopt(byHostControl ? await connectWithHostControl(this, options) : await connectByCm(this, options));
    } catch (error) {
      if (!(error instanceof HostControlError)) throw error;
      if (this.#peers.length > 0 && error.errno === 'ENOMEM')
        throw new NotApplicable(`the device has no room for more than ${this.#peers.length} queue pairs`);
      throw new Inconclusive(`no connection could be made: ${error.message}`);
    }
  }

  /** `count` completions of a queue, waited for at most `withinNs` from now. @throws Violation when fewer come */
  async completions(cq: HostHandle, count: number, withinNs = this.dut.patienceNs): Promise<HostCompletion[]> {
    const found: HostCompletion[] = [];
    const deadline = this.now() + withinNs;
    for (;;) {
      const { completions } = await this.hostControl.call('cq.poll', { cq, max: count - found.length });
      found.push(...completions);
      if (found.length >= count) return found;
      demand(this.now() < deadline, `${count} completions were expected, and ${found.length} came`);
      await this.sleep(this.dut.pollNs);
    }
  }

  /** What completes within a time that is enough for what is under way: nothing may be missing afterwards. */
  async completionsWithin(cq: HostHandle, durationNs = this.dut.quietNs): Promise<readonly HostCompletion[]> {
    await this.sleep(durationNs);
    return (await this.hostControl.call('cq.poll', { cq, max: 1000 })).completions;
  }

  /** An asynchronous event of this name, waited for. @throws Violation when none comes */
  async event(name: string, withinNs = this.dut.patienceNs): Promise<AsyncEvent> {
    const deadline = this.now() + withinNs;
    const seen: string[] = [];
    for (;;) {
      const { events } = await this.hostControl.call('events', {});
      const found = events.find(({ event }) => event === name);
      if (found !== undefined) return found;
      seen.push(...events.map(({ event }) => event));
      demand(
        this.now() < deadline,
        `the event ${name} was expected, and ${seen.length === 0 ? 'none' : seen.join(', ')} came`,
      );
      await this.sleep(this.dut.pollNs);
    }
  }

  /** Verbs must refuse this. @throws Violation when they do not */
  async refused(what: string, call: () => Promise<unknown>): Promise<HostControlError> {
    try {
      await call();
    } catch (error) {
      if (error instanceof HostControlError && error.kind === 'refused') return error;
      if (error instanceof HostControlError && error.kind === 'unsupported') throw new NotApplicable(error.message);
      throw error;
    }
    demand(false, `${what} was to be refused, and was not`);
  }

  /** Bytes of a region of the device. */
  async memory(region: Region, offset: number, length: number): Promise<Uint8Array> {
    if (this.dut.hostControl === undefined) return (await this.#witnessed()).read(region, offset, length);
    const { hex } = await this.hostControl.call('mem.read', { mr: this.need(region.mr), offset, length });
    return Uint8Array.from({ length }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
  }

  async setMemory(region: Region, offset: number, bytes: Uint8Array): Promise<void> {
    if (this.dut.hostControl === undefined) return (await this.#witnessed()).write(region, offset, bytes);
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    await this.hostControl.call('mem.write', { mr: this.need(region.mr), offset, hex });
  }

  /** Ends all that the case has made. */
  async end(): Promise<void> {
    for (const { qpn } of this.#peers) this.dut.station.close(qpn);
    this.#cm?.close();
    for (const ending of this.#endings.splice(0)) await ending();
    await this.dut.hostControl?.call('reset', {});
  }

  /** A connection of its own, that memory is looked at through. */
  async #witnessed(): Promise<Witness> {
    this.#witness ??= new Witness(await this.connect({ mtu: 1024 }));
    return this.#witness;
  }
}
