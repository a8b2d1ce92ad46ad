/**
 * What a property needs of a device under test: connections with it, one after the other, and what a connection can do.
 * Who implements it owns the device, the wire and the waiting; the properties own what is sent and what is thought of
 * the answers.
 */

import type { Packet } from 'rocev2/packets/kit';
import type { HostCompletion, SendRequest } from '../host-control/host-control.ts';
import type { Delivered } from '../model/responder-state.ts';

/** How a connection is to be. */
export interface SubjectConnectionOptions {
  /** First PSN of the tester's requests. */
  readonly psn: number;
  /** First PSN of the device's requests. */
  readonly dutPsn: number;
  /** Path MTU in bytes. */
  readonly mtu: number;
  /** Bytes of the region that the tester may reach, and what they are at first. */
  readonly memory: Uint8Array;
  /** What the device's queue pair lets its peer do. */
  readonly access: { readonly read: boolean; readonly write: boolean; readonly atomic: boolean };
  /** Receives posted at first, and bytes of each. */
  readonly receives: number;
  readonly receiveBytes: number;
  readonly maxDestRdAtomic: number;
  readonly rnrTimer: number;
  readonly maxRdAtomic: number;
  /** Code of the ACK timeout, 0..31. */
  readonly timeout: number;
  readonly retryCnt: number;
  readonly rnrRetry: number;
  /** Bytes that the device's own requests take from and put to. */
  readonly localBytes: number;
}

/** One queue pair of the device, connected to the tester. PSNs of packets count from the first of their direction. */
export interface SubjectConnection {
  /** Where the tester reaches the device's memory. */
  readonly region: { readonly va: bigint; readonly rkey: number; readonly length: number };
  /** Sends packets, one after the other. */
  send(packets: readonly Packet[]): void;
  /** The next packet of the device; undefined when none comes within this time on the subject's clock. */
  next(withinNs: number): Promise<Packet | undefined>;
  /** Nanoseconds on the subject's clock. */
  now(): number;
  /** Lets time pass. */
  sleep(durationNs: number): Promise<void>;
  /** Posts more receives. */
  postReceives(count: number): Promise<void>;
  /**
   * What was put into receives by messages without fault since the connection was made; `expected` of them are waited
   * for.
   */
  delivered(expected: number): Promise<readonly Delivered[]>;
  /** What the region holds. */
  memory(): Promise<Uint8Array>;
  /** Posts a work request of the device: local bytes by offset and length. */
  post(request: LocalRequest): Promise<void>;
  /** Completions of sends since the last look. */
  completions(): Promise<readonly HostCompletion[]>;
  /** What the device's own requests have put into its local bytes. */
  local(): Promise<Uint8Array>;
  /** Sets local bytes. */
  setLocal(offset: number, bytes: Uint8Array): Promise<void>;
  /** Whether the device's queue pair is in ERR. */
  failed(): Promise<boolean>;
  close(): Promise<void>;
}

/** A work request over the connection's local bytes. */
export type LocalRequest = Omit<SendRequest, 'pieces'> & { readonly offset: number; readonly length: number };

export interface Subject {
  readonly name: string;
  readonly flush: boolean;
  readonly atomicWrite: boolean;
  readonly atomics: boolean;
  /** Whether receives can be posted, completions read and work requests posted. */
  readonly hostControl: boolean;
  /** How long an answer that has to come may take. */
  readonly patienceNs: number;
  /** How long to listen for what must not come, once all that must has. */
  readonly lingerNs: number;
  /** True: time is virtual, so that waiting proves absence. */
  readonly virtual: boolean;
  /** Why the device is gone; undefined while it lives. */
  gone(): string | undefined;
  /** Puts a fresh device in the place of one that is gone. */
  renew(): Promise<void>;
  /** @throws HostControlError of kind `gone`, Inconclusive */
  fresh(options: SubjectConnectionOptions): Promise<SubjectConnection>;
  /** Runs something that waits on the subject's clock. */
  run<T>(promise: Promise<T>): Promise<T>;
}
