/**
 * What a namespace is known by: its format, its size, and its identifiers, of Identify Namespace and of the list of
 * descriptors. Owns the question whether a namespace that is found after a loss of the connection is the same disk.
 */
import {
  blockBytesOf,
  IDENTIFY_NAMESPACE,
  IdentifyCns,
  type IdentifyNamespace,
  type NamespaceDescriptor,
  NamespaceIdType,
  readNamespaceDescriptors,
} from '../codec/index.ts';
import type { Association } from './association.ts';
import { NvmeError } from './errors.ts';

/** A namespace as it was identified. */
export interface KnownNamespace {
  readonly identity: IdentifyNamespace;
  /** EUI-64, NGUID and UUID, as far as the controller tells them. */
  readonly identifiers: readonly NamespaceDescriptor[];
}

/** Rejects as `Association.identify`; a controller that knows no descriptors has none. */
export async function identifyNamespace(association: Association, nsid: number): Promise<KnownNamespace> {
  const data = await association.identify(IdentifyCns.Namespace, nsid);
  const identity = IDENTIFY_NAMESPACE.read(data) ?? IDENTIFY_NAMESPACE.zeroed();
  if (identity.nsze === 0n) return { identity, identifiers: [] };
  return { identity, identifiers: await identifiersOf(association, nsid, identity) };
}

/** Whether it is the disk that it was: each identifier that there was is there, and the disk is not smaller. */
export function isSameNamespace(before: KnownNamespace, now: KnownNamespace): boolean {
  return (
    blockBytesOf(now.identity) === blockBytesOf(before.identity) &&
    now.identity.nsze >= before.identity.nsze &&
    before.identifiers.every(({ type, id }) =>
      now.identifiers.some((other) => other.type === type && sameBytes(other.id, id)),
    )
  );
}

async function identifiersOf(
  association: Association,
  nsid: number,
  { nguid, eui64 }: IdentifyNamespace,
): Promise<NamespaceDescriptor[]> {
  const own = [
    { type: NamespaceIdType.Nguid, id: nguid },
    { type: NamespaceIdType.Eui64, id: eui64 },
  ].filter(({ id }) => id.some((byte) => byte !== 0));
  try {
    const listed = readNamespaceDescriptors(await association.identify(IdentifyCns.NamespaceDescriptors, nsid));
    return [...own, ...listed.filter(({ type }) => NAMES_A_DISK.includes(type))];
  } catch (error) {
    // Before NVMe 1.3 there are none.
    if (error instanceof NvmeError && error.doNotRetry) return own;
    throw error;
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

const NAMES_A_DISK: readonly number[] = [NamespaceIdType.Eui64, NamespaceIdType.Nguid, NamespaceIdType.Uuid];
