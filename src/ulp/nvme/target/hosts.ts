/**
 * Which hosts may connect to a subsystem, and what each has to prove itself with.
 *
 * Owns that list. Secrets are kept as `DhchapSecret`, which no printer shows.
 */
import { RoceError } from '../../../../packets/errors.ts';
import type { ControllerTerms } from '../auth/controller-side.ts';
import { type DhchapSecret, secretOf } from '../auth/secret.ts';
import type { NvmeCrypto } from '../auth/suite.ts';
import { DhchapGroup, DhchapHash, dhchapGroupBytes, dhchapHashBytes } from '../codec/index.ts';

/** A host that has to prove itself on every queue: DH-HMAC-CHAP. */
export interface HostAccess {
  /** Its qualified name. */
  readonly nqn: string;
  /** Its secret, DHHC-1:...: as nvme-cli makes it. */
  readonly secret: string | DhchapSecret;
  /** Secret of the controller: without it a host that asks for a proof is refused [none]. */
  readonly controllerSecret?: string | DhchapSecret;
  /** Hash function of challenges, one of `DhchapHash` [SHA-256]. */
  readonly hash?: number;
  /** Diffie-Hellman group of challenges, one of `DhchapGroup` [null]. */
  readonly group?: number;
}

/** What a host is asked for. */
type Demand = Omit<ControllerTerms, 'hostNqn' | 'subNqn'>;

export class AllowedHosts {
  readonly #suite: NvmeCrypto | undefined;
  readonly #names: ReadonlySet<string>;
  readonly #demands = new Map<string, Demand>();
  /** Whether hosts that are on no list may connect. Never becomes true: without its last host a list is still one. */
  #anybody: boolean;

  /** @throws RoceError ERR_ROCE_ARGUMENT */
  constructor(names: readonly string[] | undefined, hosts: readonly HostAccess[], suite: NvmeCrypto | undefined) {
    this.#suite = suite;
    this.#names = new Set(names);
    this.#anybody = names === undefined;
    for (const host of hosts) this.set(host);
  }

  allows(nqn: string): boolean {
    return this.#anybody || this.#names.has(nqn) || this.#demands.has(nqn);
  }

  /** What the host has to prove itself with; undefined where it needs not. */
  demandOf(nqn: string): Demand | undefined {
    return this.#demands.get(nqn);
  }

  /** @throws RoceError ERR_ROCE_ARGUMENT */
  set({ nqn, secret, controllerSecret, hash = DhchapHash.Sha256, group = DhchapGroup.Null }: HostAccess): void {
    if (this.#suite === undefined)
      throw new RoceError(
        'ERR_ROCE_ARGUMENT',
        'secrets need the option crypto: nvmeCrypto of rocev2/node is that of Node',
      );
    if (dhchapHashBytes(hash) === undefined || dhchapGroupBytes(group) === undefined)
      throw new RoceError('ERR_ROCE_ARGUMENT', `there is no hash function ${hash} with a group ${group}`);
    this.#anybody = false;
    this.#demands.set(nqn, {
      suite: this.#suite,
      secret: secretOf(secret),
      controllerSecret: controllerSecret === undefined ? undefined : secretOf(controllerSecret),
      hash,
      group,
    });
  }

  /** Whether it was there. */
  remove(nqn: string): boolean {
    return this.#demands.delete(nqn);
  }
}
