/**
 * What there is on this machine: kinds of links with their requirements, and interfaces with what can be typed for
 * each. Owns the looking; changes nothing, needs no privilege, and knows no kind of link by name: what a kind says of
 * itself is all there is.
 */

import type { LinkEcn } from 'rocev2';
import { LINK_KINDS, type LinkKind, openLink, type Requirement } from 'rocev2/node';
import { Medium } from 'rocev2/packets';
import { type NetworkInterface, readInterfaces } from './interfaces.ts';

export interface SurveyedLink {
  /** As typed before the colon. */
  readonly name: string;
  /** How all of it is typed, with placeholders; empty for what is not typed. */
  readonly usage: string;
  readonly summary: string;
  readonly medium: 'Ethernet' | 'IP' | 'either';
  /** The IP versions whose ECN bits, and DSCP, can be set and seen. */
  readonly ecn: LinkEcn;
  /** Whether everything is there that it needs. */
  readonly usable: boolean;
  readonly requirements: readonly Requirement[];
}

export interface SurveyedInterface extends NetworkInterface {
  /** Specifications of usable links on it, as `--link` takes them. */
  readonly links: readonly string[];
}

export interface Survey {
  readonly links: readonly SurveyedLink[];
  readonly interfaces: readonly SurveyedInterface[];
}

export async function surveyLinks(
  kinds: readonly LinkKind[] = LINK_KINDS,
  interfaces: readonly NetworkInterface[] = readInterfaces(),
): Promise<Survey> {
  const links = await Promise.all(kinds.map(surveyKind));
  const usable = kinds.filter((_, index) => links[index]?.usable);
  return {
    links: [IN_PROCESS, ...links],
    interfaces: interfaces.map((one) => ({ ...one, links: usable.flatMap((kind) => specifications(kind, one)) })),
  };
}

async function surveyKind(kind: LinkKind): Promise<SurveyedLink> {
  const requirements = await kind.requirements();
  return {
    name: kind.name,
    usage: `${kind.name}:${kind.usage}`,
    summary: kind.summary,
    medium: kind.medium === Medium.Ethernet ? 'Ethernet' : 'IP',
    ecn: kind.ecn,
    usable: requirements.every(({ met }) => met),
    requirements,
  };
}

/**
 * What can be typed for an interface, by the first placeholder of the kind; what the kind does not take is left out.
 */
function specifications(kind: LinkKind, { name, addresses }: NetworkInterface): string[] {
  const targets: Readonly<Record<string, readonly string[]>> = {
    INTERFACE: [name],
    ADDRESS: addresses.map((prefix) => addressTarget(prefix, name)),
  };
  const [, placeholder = ''] = /^\[?([A-Z]+)/.exec(kind.usage) ?? [];
  return (targets[placeholder] ?? []).map((target) => `${kind.name}:${target}`).filter(isTaken);
}

/** `10.0.0.1`, `[fd00::1]`, `[fe80::1%eth0]`. */
function addressTarget(prefix: string, interfaceName: string): string {
  const [address = ''] = prefix.split('/');
  if (!address.includes(':')) return address;
  return /^fe[89ab]/i.test(address) ? `[${address}%${interfaceName}]` : `[${address}]`;
}

/** Makes the link without starting it, which does nothing to the world. */
function isTaken(specification: string): boolean {
  try {
    return openLink(specification).name !== '';
  } catch {
    return false;
  }
}

const IN_PROCESS: SurveyedLink = {
  name: 'in-process',
  usage: '',
  summary: 'simulated wires between devices of one process: World, attachDevice, roce demo',
  medium: 'either',
  ecn: { set: [4, 6], read: [4, 6] },
  usable: true,
  requirements: [],
};
