// Goal: who has the secret is let in and nobody else is, whatever a host sends, and each refusal has its reason.
// Method: both sides without a wire; one of them, or what is between them, does what it must not.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ControllerSide } from '../../../../src/ulp/nvme/auth/controller-side.ts';
import { groupPrime } from '../../../../src/ulp/nvme/auth/groups.ts';
import { DhchapSecret } from '../../../../src/ulp/nvme/auth/secret.ts';
import {
  AUTH_FAILURE,
  AUTH_MAX_BYTES,
  AUTH_NEGOTIATE,
  AuthenticationFailure,
  AuthenticationId,
  AuthenticationType,
  type AuthNegotiate,
  DHCHAP_REPLY,
  DHCHAP_SUCCESS2,
  DhchapGroup,
  DhchapHash,
  type DhchapReply,
  dhchapGroupName,
  dhchapHashName,
  readChallenge,
} from '../../../../src/ulp/nvme/codec/index.ts';
import {
  changed,
  exchange,
  given,
  OTHER_SECRET,
  replied,
  type SidesOptions,
  secretText,
  sides,
  TRANSACTION,
} from './support.ts';

const OTHER = DhchapSecret.parse(OTHER_SECRET);
const WELL = { host: 0, controller: 0 };

/** What the controller gives as the reason of its failure. */
async function reasonOf(controller: ControllerSide): Promise<number> {
  const failure = AUTH_FAILURE.read(await given(controller));
  expect(failure).toMatchObject({
    type: AuthenticationType.Common,
    id: AuthenticationId.Failure1,
    reason: 1,
  });
  expect(controller.authenticated).toBe(false);
  expect(controller.step).toBe('failed');
  return failure?.explanation ?? 0;
}

describe('a host and a controller with the same secrets', () => {
  const GROUPS = Object.values(DhchapGroup);
  const all = Object.values(DhchapHash).flatMap((hash) => GROUPS.map((group) => [hash, group] as const));

  it.each(all.map(([hash, group]) => [dhchapHashName(hash), dhchapGroupName(group), hash, group] as const))(
    'authenticate each other with %s and %s',
    async (_hash, _group, hash, group) => {
      const both = sides({ controller: { hash, group } });
      expect(await exchange(both)).toEqual(WELL);
      expect(both.controller.authenticated).toBe(true);
    },
  );

  it.each([32, 48, 64].flatMap((bytes) => [0, { 32: 1, 48: 2, 64: 3 }[bytes] ?? 0].map((hash) => [bytes, hash])))(
    'have secrets of %d bytes with transform %d',
    async (bytes, hash) => {
      const secret = DhchapSecret.parse(secretText(1, bytes, hash));
      const controllerSecret = DhchapSecret.parse(secretText(65, bytes, hash));
      expect(
        await exchange(sides({ host: { secret, controllerSecret }, controller: { secret, controllerSecret } })),
      ).toEqual(WELL);
    },
  );

  it('need no second secret when the host asks for no proof', async () => {
    const both = sides({ host: { controllerSecret: undefined }, controller: { controllerSecret: undefined } });
    expect(await exchange(both)).toEqual(WELL);
    expect(both.controller.authenticated).toBe(true);
  });

  it('take a number that no challenge goes with, as Linux 6.12 sends it', async () => {
    const both = await replied({ host: { controllerSecret: undefined } });
    await both.controller.take(changed(DHCHAP_REPLY, both.reply, { sequence: 5 }));
    expect(await both.host.succeeded(await given(both.controller))).toEqual({});
    expect(both.controller.authenticated).toBe(true);
  });

  it('can do it again and again', async () => {
    const both = sides();
    for (let i = 0; i < 3; i++) expect(await exchange(both)).toEqual(WELL);
    expect(both.controller.authenticated).toBe(true);
  });

  it('stay authenticated while they do it again, until it fails', async () => {
    const both = sides();
    await exchange(both);
    await both.controller.take(both.host.negotiate());
    await given(both.controller);
    expect(both.controller.authenticated).toBe(true);
    both.controller.forget();
    expect([both.controller.step, both.controller.authenticated]).toEqual(['negotiate', true]);
    const impostor = sides({ host: { secret: OTHER } });
    expect(await exchange({ host: impostor.host, controller: both.controller })).toMatchObject({
      host: AuthenticationFailure.Failed,
    });
    expect(both.controller.authenticated).toBe(false);
  });
});

describe('a controller', () => {
  it.each<[string, SidesOptions]>([
    ['another secret', { host: { secret: OTHER } }],
    ['another transform of the same key', { host: { secret: DhchapSecret.parse(secretText(1, 32, 1)) } }],
    ['another name', { host: { hostNqn: 'nqn.2026-11.example:other' } }],
    ['another subsystem in mind', { host: { subNqn: 'nqn.2026-11.example:other' } }],
  ])('does not let in a host with %s', async (_, options) => {
    for (const group of [DhchapGroup.Null, DhchapGroup.Ffdhe2048]) {
      const { controller, host } = sides({ ...options, controller: { group } });
      expect(await exchange({ host, controller })).toEqual({ host: 1, controller: AuthenticationFailure.Failed });
      expect(controller.authenticated).toBe(false);
    }
  });

  it('does not let in a host whose secret was taken away', async () => {
    const controller = new ControllerSide(() => undefined);
    await controller.take(sides().host.negotiate());
    expect(await reasonOf(controller)).toBe(AuthenticationFailure.Failed);
  });

  it('without a secret of its own refuses a host that asks for a proof', async () => {
    const both = sides({ controller: { controllerSecret: undefined } });
    expect(await exchange(both)).toEqual({ host: 1, controller: AuthenticationFailure.Failed });
  });

  it.each<[string, Partial<AuthNegotiate>, number]>([
    ['a secure channel', { secureChannel: 1 }, AuthenticationFailure.SecureChannelMismatch],
    ['no protocol', { napd: 0 }, AuthenticationFailure.IncorrectPayload],
    ['more protocols than the message has', { napd: 2 }, AuthenticationFailure.IncorrectPayload],
    ['another protocol', { protocol: { authid: 2 } }, AuthenticationFailure.ProtocolNotUsable],
    ['no hash function', protocol({ halen: 0 }), AuthenticationFailure.HashNotUsable],
    ['hash functions nobody knows', protocol({ halen: 2, hashes: [9, 200] }), AuthenticationFailure.HashNotUsable],
    ['more hash functions than there is room for', protocol({ halen: 31 }), AuthenticationFailure.IncorrectPayload],
    ['no group', protocol({ dhlen: 0 }), AuthenticationFailure.GroupNotUsable],
    ['groups nobody knows', protocol({ dhlen: 2, groups: [6, 77] }), AuthenticationFailure.GroupNotUsable],
    ['more groups than there is room for', protocol({ dhlen: 255 }), AuthenticationFailure.IncorrectPayload],
  ])('refuses a negotiation with %s', async (_, values, reason) => {
    const { host, controller } = sides();
    const message = host.negotiate();
    AUTH_NEGOTIATE.write({ ...AUTH_NEGOTIATE.read(message), ...values }, message);
    await controller.take(message);
    expect(await reasonOf(controller)).toBe(reason);
  });

  it('finds its protocol among others', async () => {
    const { host, controller } = sides();
    const message = new Uint8Array(AUTH_NEGOTIATE.byteLength + 64);
    const own = host.negotiate();
    message.set(own.subarray(0, 8));
    message[7] = 2;
    message[8] = 99;
    message.set(own.subarray(8), 8 + 64);
    await controller.take(message);
    expect(controller.step).toBe('challenge');
  });

  it.each<[string, Partial<DhchapReply>]>([
    ['another transaction', { transaction: TRANSACTION + 1 }],
    ['another length of the hash function', { hl: 48 }],
    ['no length of the hash function', { hl: 0 }],
    ['a public value in the null group', { dhvlen: 32 }],
    ['a challenge without number', { sequence: 0 }],
  ])('refuses a reply with %s', async (_, values) => {
    const { controller, reply } = await replied();
    await controller.take(changed(DHCHAP_REPLY, reply, values));
    expect(await reasonOf(controller)).toBe(AuthenticationFailure.IncorrectPayload);
  });

  it('refuses a reply without a response', async () => {
    const { controller } = await replied();
    await controller.take(
      DHCHAP_REPLY.encode({
        type: AuthenticationType.DhHmacChap,
        id: AuthenticationId.Reply,
        transaction: TRANSACTION,
      }),
    );
    expect(await reasonOf(controller)).toBe(AuthenticationFailure.IncorrectPayload);
  });

  it('refuses a reply with one bit of the response changed', async () => {
    for (let bit = 0; bit < 256; bit += 17) {
      const { controller, reply } = await replied();
      const at = DHCHAP_REPLY.byteLength + (bit >> 3);
      reply[at] = (reply[at] ?? 0) ^ (1 << (bit & 7));
      await controller.take(reply);
      expect(await reasonOf(controller)).toBe(AuthenticationFailure.Failed);
    }
  });

  it('refuses a reply cut at any byte, or longer than it says', async () => {
    const { reply } = await replied();
    for (const length of [...Array(reply.length).keys(), reply.length + 1, AUTH_MAX_BYTES]) {
      const { controller } = await replied();
      const cut = new Uint8Array(length);
      cut.set(reply.subarray(0, length));
      await controller.take(cut);
      expect(controller.authenticated).toBe(false);
      expect([AuthenticationFailure.IncorrectPayload, AuthenticationFailure.IncorrectMessage]).toContain(
        await reasonOf(controller),
      );
    }
  });

  it.each(['0', '1', 'p-1', 'p'])('refuses %s as the public value of a host', async (what) => {
    const { controller, reply } = await replied({ controller: { group: DhchapGroup.Ffdhe2048 } });
    const value = reply.subarray(-256);
    const prime = groupPrime(DhchapGroup.Ffdhe2048);
    value.set(what.startsWith('p') ? prime : new Uint8Array(256));
    value[255] = { '0': 0, '1': 1, 'p-1': (prime[255] ?? 0) - 1, p: prime[255] }[what] ?? 0;
    await controller.take(reply);
    expect(await reasonOf(controller)).toBe(AuthenticationFailure.IncorrectPayload);
  });

  it('takes no reply of another exchange', async () => {
    const { controller, host, reply } = await replied();
    await controller.take(reply);
    await given(controller);
    await controller.take(
      DHCHAP_SUCCESS2.encode({
        type: AuthenticationType.DhHmacChap,
        id: AuthenticationId.Success2,
        transaction: TRANSACTION,
      }),
    );
    expect(controller.authenticated).toBe(true);
    // The same transaction, and the reply that was right before.
    await controller.take(host.negotiate());
    await given(controller);
    await controller.take(reply);
    expect(await reasonOf(controller)).toBe(AuthenticationFailure.Failed);
  });

  it.each<[string, number, number]>([
    ['a reply without negotiation', AuthenticationType.DhHmacChap, AuthenticationId.Reply],
    ['a success without negotiation', AuthenticationType.DhHmacChap, AuthenticationId.Success2],
    ['its own challenge', AuthenticationType.DhHmacChap, AuthenticationId.Challenge],
    ['its own success', AuthenticationType.DhHmacChap, AuthenticationId.Success1],
    ['its own failure', AuthenticationType.Common, AuthenticationId.Failure1],
    ['a message of another protocol', 2, AuthenticationId.Reply],
  ])('refuses %s', async (_, type, id) => {
    const { controller } = sides();
    await controller.take(DHCHAP_REPLY.encode({ type, id, transaction: TRANSACTION }));
    expect(await reasonOf(controller)).toBe(AuthenticationFailure.IncorrectMessage);
  });

  it('refuses a success before the proof that it is about', async () => {
    const { controller, reply } = await replied();
    await controller.take(reply);
    const success = { type: AuthenticationType.DhHmacChap, id: AuthenticationId.Success2, transaction: TRANSACTION };
    await controller.take(DHCHAP_SUCCESS2.encode(success));
    expect(controller.authenticated).toBe(false);
    expect(await reasonOf(controller)).toBe(AuthenticationFailure.IncorrectMessage);
  });

  it('takes the authentication back with the message that fails, not with its answer', async () => {
    const both = sides();
    await exchange(both);
    await both.controller.take(new Uint8Array(72).fill(1));
    expect(both.controller.authenticated).toBe(false);
  });

  it('refuses a success in place of a reply', async () => {
    const { controller } = await replied();
    const success = { type: AuthenticationType.DhHmacChap, id: AuthenticationId.Success2, transaction: TRANSACTION };
    await controller.take(DHCHAP_SUCCESS2.encode(success));
    expect(controller.authenticated).toBe(false);
    expect(await reasonOf(controller)).toBe(AuthenticationFailure.IncorrectMessage);
  });

  it('refuses to be asked out of turn', async () => {
    const { controller } = sides();
    expect(await reasonOf(controller)).toBe(AuthenticationFailure.IncorrectMessage);
  });

  it('gives nothing, and loses nothing, where its message does not fit', async () => {
    const { controller, host } = sides();
    await controller.take(host.negotiate());
    expect(await controller.give(47)).toBeUndefined();
    expect(await controller.give(48)).toHaveLength(48);
  });

  it('gives each exchange another challenge, number and public value', async () => {
    const { controller, host } = sides({ controller: { group: DhchapGroup.Ffdhe2048 } });
    const seen = new Set<string>();
    for (let i = 0; i < 4; i++) {
      await controller.take(host.negotiate());
      const { challenge, publicValue, sequence } = readChallenge(await given(controller)) ?? {};
      for (const value of [challenge, publicValue, sequence]) seen.add(`${value}`);
    }
    expect(seen.size).toBe(12);
  });

  it('stays failed', async () => {
    const { controller, host } = sides();
    await controller.take(new Uint8Array(3));
    await reasonOf(controller);
    await controller.take(host.negotiate());
    expect(controller.step).toBe('failed');
    expect(await exchange({ controller, host })).toMatchObject({ host: AuthenticationFailure.IncorrectPayload });
  });

  it('ends when the host says that it failed', async () => {
    const { controller } = await replied();
    await controller.take(
      AUTH_FAILURE.encode({ id: AuthenticationId.Failure2, explanation: AuthenticationFailure.GroupNotUsable }),
    );
    expect([controller.step, controller.failure]).toEqual(['failed', AuthenticationFailure.GroupNotUsable]);
  });

  it('survives any messages in any order, and lets nobody in', async () => {
    const message = fc.oneof(
      fc.uint8Array({ maxLength: 100 }),
      fc
        .tuple(fc.constantFrom(0, 1), fc.constantFrom(0, 1, 2, 3, 4, 0xf0, 0xf1), fc.uint8Array({ maxLength: 96 }))
        .map(([type, id, rest]) => Uint8Array.of(type, id, 0, 0, TRANSACTION & 0xff, TRANSACTION >> 8, ...rest)),
      fc.constant(sides().host.negotiate()),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(message, fc.constant(undefined)), { maxLength: 8 }), async (messages) => {
        const { controller } = sides();
        for (const one of messages) {
          if (one === undefined) await controller.give(AUTH_MAX_BYTES);
          else await controller.take(one);
          expect(controller.authenticated).toBe(false);
        }
      }),
    );
  });
});

function protocol(values: object): Partial<AuthNegotiate> {
  const usual = { authid: 1, halen: 3, dhlen: 6, hashes: [1, 2, 3], groups: [0, 1, 2, 3, 4, 5] };
  return { protocol: { ...usual, ...values } };
}
