/**
 * An NVM subsystem: its namespaces, who may use them, how each port reaches them, and which controllers there are.
 *
 * Owns what all its controllers share, and tells them of changes. It knows nothing of queues and of RDMA.
 */
import { RoceError } from '../../../../packets/errors.ts';
import type { ControllerTerms } from '../auth/controller-side.ts';
import type { NvmeCrypto } from '../auth/suite.ts';
import { AnaState, NQN_MAX_BYTES } from '../codec/index.ts';
import type { NvmeBackend } from './backend.ts';
import { AllowedHosts, type HostAccess } from './hosts.ts';

/** How a subsystem is made. */
export interface SubsystemOptions {
  /** Its qualified name, "nqn." and up to 223 bytes in all. */
  readonly nqn: string;
  /** Up to 20 characters [0123456789]. */
  readonly serial?: string;
  /** Up to 40 characters [rocev2]. */
  readonly model?: string;
  /** Names of the hosts that may connect [all, where `hosts` names none]. */
  readonly allowedHosts?: readonly string[];
  /** Hosts that have to prove themselves: DH-HMAC-CHAP. With one, only these and `allowedHosts` may connect [none]. */
  readonly hosts?: readonly HostAccess[];
  /** For `hosts`: `nvmeCrypto` of `rocev2/node`, or another. */
  readonly crypto?: NvmeCrypto;
  /** Whether it tells hosts how each of its ports reaches the namespaces, for several paths [no]. */
  readonly ana?: boolean;
}

/** How a namespace is made. */
export interface NamespaceOptions {
  /** Its number, from 1 on [the lowest that is free]. */
  readonly nsid?: number;
  /** Where its bytes are. */
  readonly backend: NvmeBackend;
  /** 512 or 4096 [512]. */
  readonly blockBytes?: number;
  /** Its UUID, 16 bytes: the same on every path, after every start. */
  readonly uuid: Uint8Array;
}

/** A namespace of a subsystem. */
export interface TargetNamespace {
  /** Its number, from 1. */
  readonly nsid: number;
  /** Where its bytes are. */
  readonly backend: NvmeBackend;
  /** 512 or 4096. */
  readonly blockBytes: number;
  /** 16 bytes: the same on every path, after every start. */
  readonly uuid: Uint8Array;
}

/** What a subsystem tells its controllers. */
export interface SubsystemWatcher {
  /** A namespace came, went, or has another size. */
  namespaceChanged(nsid: number): void;
  /** How a port reaches the namespaces has changed. */
  anaChanged(): void;
}

/**
 * A subsystem. Targets serve it, one for each port.
 *
 * @example
 * ```ts
 * import { MemoryBackend, NvmeSubsystem } from 'rocev2/nvme';
 *
 * const subsystem = new NvmeSubsystem({ nqn: 'nqn.2026-01.example:disk', model: 'example' });
 * subsystem.addNamespace({ backend: new MemoryBackend(1 << 20), uuid: new Uint8Array(16) });
 * console.log(subsystem.namespaces.length, subsystem.namespace(1)?.blockBytes); // 1 512
 * ```
 */
export class NvmeSubsystem {
  /** Its qualified name. */
  readonly nqn: string;
  /** Up to 20 characters. */
  readonly serial: string;
  /** Up to 40 characters. */
  readonly model: string;
  /** Whether ports tell how they reach the namespaces. */
  readonly ana: boolean;
  /** Controllers that there are; they add and remove themselves. */
  readonly watchers = new Set<SubsystemWatcher>();
  /** Changes of ANA states so far. */
  anaChanges = 0n;
  readonly #hosts: AllowedHosts;
  readonly #namespaces = new Map<number, TargetNamespace>();
  readonly #anaStates = new Map<number, number>();
  #nextController = 1;

  /** @throws RoceError ERR_ROCE_ARGUMENT */
  constructor(options: SubsystemOptions) {
    const { nqn, serial = '0123456789', model = 'rocev2', ana = false } = options;
    if (!nqn.startsWith('nqn.') || new TextEncoder().encode(nqn).length > NQN_MAX_BYTES)
      throw new RoceError('ERR_ROCE_ARGUMENT', `"${nqn}" is no qualified name of NVMe`);
    if (serial.length > 20 || model.length > 40)
      throw new RoceError('ERR_ROCE_ARGUMENT', 'a serial number has up to 20 characters, a model up to 40');
    this.nqn = nqn;
    this.serial = serial;
    this.model = model;
    this.ana = ana;
    this.#hosts = new AllowedHosts(options.allowedHosts, options.hosts ?? [], options.crypto);
  }

  /** In the order of their numbers. */
  get namespaces(): readonly TargetNamespace[] {
    return [...this.#namespaces.values()].sort((a, b) => a.nsid - b.nsid);
  }

  /** Undefined when there is none of this number. */
  namespace(nsid: number): TargetNamespace | undefined {
    return this.#namespaces.get(nsid);
  }

  /** @throws RoceError ERR_ROCE_ARGUMENT, ERR_ROCE_IN_USE when the number is */
  addNamespace({ nsid, backend, blockBytes = 512, uuid }: NamespaceOptions): TargetNamespace {
    const number = nsid ?? this.#freeNsid();
    if (!(Number.isInteger(number) && number >= 1 && number <= MAX_NAMESPACES))
      throw new RoceError('ERR_ROCE_ARGUMENT', `a namespace has a number from 1 to ${MAX_NAMESPACES}, not ${number}`);
    if (blockBytes !== 512 && blockBytes !== 4096)
      throw new RoceError('ERR_ROCE_ARGUMENT', `blocks have 512 or 4096 bytes, not ${blockBytes}`);
    if (uuid.length !== 16) throw new RoceError('ERR_ROCE_ARGUMENT', `a UUID has 16 bytes, not ${uuid.length}`);
    if (this.#namespaces.has(number)) throw new RoceError('ERR_ROCE_IN_USE', `there is a namespace ${number} already`);
    const namespace: TargetNamespace = { nsid: number, backend, blockBytes, uuid };
    this.#namespaces.set(number, namespace);
    this.resized(number);
    return namespace;
  }

  /** Commands that are under way end; later ones find no namespace. */
  removeNamespace(nsid: number): void {
    if (this.#namespaces.delete(nsid)) this.resized(nsid);
  }

  /** Tells the hosts to look at the namespace again. */
  resized(nsid: number): void {
    for (const watcher of this.watchers) watcher.namespaceChanged(nsid);
  }

  /** Whether a host of this name may connect. */
  allows(hostNqn: string): boolean {
    return this.#hosts.allows(hostNqn);
  }

  /**
   * Adds a host that has to prove itself, or gives it other secrets: they hold from its next connection or
   * re-authentication on.
   *
   * @throws RoceError ERR_ROCE_ARGUMENT
   */
  setHost(host: HostAccess): void {
    this.#hosts.set(host);
  }

  /** Takes the secrets of a host away, if it has some; what it has connected lives until it authenticates again. */
  removeHost(nqn: string): boolean {
    return this.#hosts.remove(nqn);
  }

  /** What a host has to prove itself with; undefined where it needs not. @internal */
  termsOf(hostNqn: string): ControllerTerms | undefined {
    const demand = this.#hosts.demandOf(hostNqn);
    return demand === undefined ? undefined : { ...demand, hostNqn, subNqn: this.nqn };
  }

  /** How this port reaches the namespaces: one of `AnaState`. */
  anaState(port: number): number {
    return this.#anaStates.get(port) ?? AnaState.Optimized;
  }

  /** Changes it, and tells the hosts. */
  setAnaState(port: number, state: number): void {
    if (this.anaState(port) === state) return;
    this.#anaStates.set(port, state);
    this.anaChanges++;
    for (const watcher of this.watchers) watcher.anaChanged();
  }

  /** A number for the next controller, not used by another of the last 65,000. */
  takeControllerId(): number {
    const id = this.#nextController;
    this.#nextController = id === MAX_CONTROLLER ? 1 : id + 1;
    return id;
  }

  #freeNsid(): number {
    for (let nsid = 1; ; nsid++) if (!this.#namespaces.has(nsid)) return nsid;
  }
}

/** Namespaces of a subsystem; their numbers end there. */
export const MAX_NAMESPACES = 1024;
/** The group of ANA that all namespaces are in. */
export const ANA_GROUP = 1;
const MAX_CONTROLLER = 0xff_ef;
