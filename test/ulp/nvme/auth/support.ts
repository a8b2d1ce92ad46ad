/** Both sides of an authentication without a wire, and secrets for them. */
import { nvmeCrypto } from '../../../../src/node/nvme/crypto.ts';
import { ControllerSide, type ControllerTerms } from '../../../../src/ulp/nvme/auth/controller-side.ts';
import { HostSide, type HostTerms } from '../../../../src/ulp/nvme/auth/host-side.ts';
import { DhchapSecret, formatDhchapSecret } from '../../../../src/ulp/nvme/auth/secret.ts';
import { AUTH_MAX_BYTES, DhchapGroup, DhchapHash } from '../../../../src/ulp/nvme/codec/index.ts';

export const HOST_NQN = 'nqn.2014-08.org.nvmexpress:uuid:4f1c0b9e-0d5e-4d5b-9a52-6f5a4d3c2b1a';
export const SUB_NQN = 'nqn.2026-11.example:disks';
export const TRANSACTION = 0x12_34;

/** A secret whose key counts up from `first`. */
export function secretText(first: number, bytes = 32, hash = 0): string {
  return formatDhchapSecret(
    Uint8Array.from({ length: bytes }, (_, i) => first + i),
    hash,
  );
}

export const HOST_SECRET = secretText(1);
export const CONTROLLER_SECRET = secretText(101);
export const OTHER_SECRET = secretText(51);

export interface Sides {
  readonly host: HostSide;
  readonly controller: ControllerSide;
}

export interface SidesOptions {
  readonly host?: Partial<HostTerms>;
  readonly controller?: Partial<ControllerTerms>;
  readonly transaction?: number;
}

/** A host and a controller with the same secrets, where the options do not say otherwise. */
export function sides({ host, controller, transaction = TRANSACTION }: SidesOptions = {}): Sides {
  const common = {
    suite: nvmeCrypto,
    hostNqn: HOST_NQN,
    subNqn: SUB_NQN,
    secret: DhchapSecret.parse(HOST_SECRET),
    controllerSecret: DhchapSecret.parse(CONTROLLER_SECRET),
  };
  const terms = { ...common, hash: DhchapHash.Sha256, group: DhchapGroup.Null, ...controller };
  return { host: new HostSide({ ...common, ...host }, transaction), controller: new ControllerSide(() => terms) };
}

/** What the controller gives, in a buffer as large as a host's. */
export async function given(controller: ControllerSide): Promise<Uint8Array> {
  const message = await controller.give(AUTH_MAX_BYTES);
  if (message === undefined) throw new Error('the message does not fit');
  return message;
}

/** A whole exchange: why it failed, 0 for success, as each side sees it. */
export async function exchange({ host, controller }: Sides): Promise<{ host: number; controller: number }> {
  await controller.take(host.negotiate());
  const reply = await host.challenged(await given(controller));
  if (reply.send !== undefined) await controller.take(reply.send);
  if (reply.failure !== undefined) return { host: reply.failure, controller: controller.failure };
  const end = await host.succeeded(await given(controller));
  if (end.send !== undefined) await controller.take(end.send);
  return { host: end.failure ?? 0, controller: controller.failure };
}

/** A message whose fixed part has other values. */
export function changed<T>(
  layout: { read(bytes: Uint8Array): T | undefined; write(values: Partial<T>, bytes: Uint8Array): void },
  message: Uint8Array,
  values: Partial<T>,
): Uint8Array {
  const copy = message.slice();
  layout.write({ ...layout.read(message), ...values } as Partial<T>, copy.subarray(0));
  // `write` writes its own bytes alone.
  return copy;
}

/** The exchange up to the reply of the host. */
export async function replied(options: SidesOptions = {}): Promise<Sides & { readonly reply: Uint8Array }> {
  const both = sides(options);
  await both.controller.take(both.host.negotiate());
  const { send } = await both.host.challenged(await given(both.controller));
  if (send === undefined) throw new Error('the host does not reply');
  return { ...both, reply: send };
}
