// Goal: a host trusts no controller that has not its secret, and takes no message that a controller must not send.
// Method: both sides without a wire; what the controller gives is changed on its way.
import { describe, expect, it } from 'vitest';
import { nvmeCrypto } from '../../../../src/node/nvme/crypto.ts';
import { HostSide } from '../../../../src/ulp/nvme/auth/host-side.ts';
import { DhchapSecret } from '../../../../src/ulp/nvme/auth/secret.ts';
import {
  AUTH_FAILURE,
  AuthenticationFailure,
  AuthenticationId,
  AuthenticationType,
  DHCHAP_CHALLENGE,
  DHCHAP_SUCCESS1,
  type DhchapChallenge,
  DhchapGroup,
  readReply,
} from '../../../../src/ulp/nvme/codec/index.ts';
import { CONTROLLER_SECRET, changed, exchange, given, OTHER_SECRET, replied, sides, TRANSACTION } from './support.ts';

const OTHER = DhchapSecret.parse(OTHER_SECRET);

describe('a host', () => {
  /** What comes of a challenge that was changed. */
  async function challenged(change: (message: Uint8Array) => Uint8Array, group = 0): Promise<number> {
    const { host, controller } = sides({ controller: { group } });
    await controller.take(host.negotiate());
    const { failure = 0, send, told } = await host.challenged(change(await given(controller)));
    if (failure !== 0 && told === false)
      expect(AUTH_FAILURE.read(send ?? new Uint8Array(0))).toMatchObject({
        id: AuthenticationId.Failure2,
        transaction: TRANSACTION,
        explanation: failure,
      });
    return failure;
  }

  it.each<[string, Partial<DhchapChallenge>, number]>([
    ['another transaction', { transaction: TRANSACTION + 1 }, AuthenticationFailure.IncorrectPayload],
    ['a hash function nobody knows', { hash: 4 }, AuthenticationFailure.HashNotUsable],
    ['a hash function of another length', { hash: 2 }, AuthenticationFailure.HashNotUsable],
    ['no challenge', { hl: 0 }, AuthenticationFailure.HashNotUsable],
    ['a group nobody knows', { group: 6 }, AuthenticationFailure.GroupNotUsable],
    ['a group without public value', { group: 1 }, AuthenticationFailure.IncorrectPayload],
    ['the number 0', { sequence: 0 }, AuthenticationFailure.IncorrectPayload],
    ['a message out of turn', { id: AuthenticationId.Success1 }, AuthenticationFailure.IncorrectMessage],
  ])('refuses a challenge with %s', async (_, values, reason) => {
    expect(await challenged((message) => changed(DHCHAP_CHALLENGE, message, values))).toBe(reason);
  });

  it.each([0, 1, 255])('refuses the public value that is all %d', async (byte) => {
    const change = (message: Uint8Array): Uint8Array => {
      message.fill(byte === 255 ? 255 : 0, -256);
      message[message.length - 1] = byte;
      return message;
    };
    expect(await challenged(change, DhchapGroup.Ffdhe2048)).toBe(AuthenticationFailure.IncorrectPayload);
  });

  it('refuses a challenge cut at any byte', async () => {
    for (let length = 0; length < 48; length++)
      expect(await challenged((message) => message.subarray(0, length))).toBe(AuthenticationFailure.IncorrectPayload);
  });

  it('tells why the controller has failed', async () => {
    const { host } = sides();
    const failure = AUTH_FAILURE.encode({
      id: AuthenticationId.Failure1,
      transaction: TRANSACTION,
      reason: 1,
      explanation: AuthenticationFailure.HashNotUsable,
    });
    expect(await host.challenged(failure)).toEqual({ failure: AuthenticationFailure.HashNotUsable, told: true });
  });

  it('does not trust a controller with another secret', async () => {
    const both = sides({ controller: { controllerSecret: OTHER } });
    expect(await exchange(both)).toEqual({
      host: AuthenticationFailure.Failed,
      controller: AuthenticationFailure.Failed,
    });
    expect(both.controller.authenticated).toBe(false);
  });

  it.each<[string, (success: Uint8Array, reply: Uint8Array) => Uint8Array]>([
    ['that leaves its proof out', (success) => changed(DHCHAP_SUCCESS1, success.subarray(0, 16), { responds: false })],
    ['whose proof is empty', (success) => changed(DHCHAP_SUCCESS1, success.subarray(0, 16), { hl: 0 })],
    ['whose proof is cut', (success) => success.subarray(0, 47)],
    ['whose proof is zeros', (success) => success.fill(0, 16)],
    ['that gives back the response of the host', (success, reply) => join(success, readReply(reply)?.response)],
    ['that gives back the challenge of the host', (success, reply) => join(success, readReply(reply)?.challenge)],
    ['that names another transaction', (success) => changed(DHCHAP_SUCCESS1, success, { transaction: 1 })],
  ])('does not trust a controller %s', async (_, change) => {
    const { host, controller, reply } = await replied();
    await controller.take(reply);
    const { failure = 0 } = await host.succeeded(change(await given(controller), reply));
    expect(failure).not.toBe(0);
  });

  it('does not trust a success before the challenge', async () => {
    const host = new HostSide(
      {
        suite: nvmeCrypto,
        hostNqn: 'nqn.a',
        subNqn: 'nqn.b',
        secret: OTHER,
        controllerSecret: DhchapSecret.parse(CONTROLLER_SECRET),
      },
      0,
    );
    const success = DHCHAP_SUCCESS1.encode({ type: AuthenticationType.DhHmacChap, id: AuthenticationId.Success1 });
    expect(await host.succeeded(success)).toMatchObject({ failure: AuthenticationFailure.IncorrectPayload });
  });
});

function join(success: Uint8Array, proof: Uint8Array | undefined): Uint8Array {
  const copy = success.slice();
  copy.set(proof ?? new Uint8Array(0), 16);
  return copy;
}
