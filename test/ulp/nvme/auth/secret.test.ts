// Goal: secrets are read as nvme-cli writes them, and what is wrong with one is said without any of it.
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { nvmeCrypto } from '../../../../src/node/nvme/crypto.ts';
import { DhchapSecret, formatDhchapSecret } from '../../../../src/ulp/nvme/auth/secret.ts';
import { DhchapHash } from '../../../../src/ulp/nvme/codec/index.ts';
import { HOST_NQN, secretText } from './support.ts';

const KEY = Uint8Array.from({ length: 32 }, (_, i) => i + 1);
const TEXT = formatDhchapSecret(KEY);

describe('a secret', () => {
  it('without transform is its key', async () => {
    expect(TEXT).toMatch(/^DHHC-1:00:[A-Za-z0-9+/]{48}:$/);
    expect(await DhchapSecret.parse(TEXT).keyOf(HOST_NQN, nvmeCrypto)).toEqual(KEY);
    expect(await DhchapSecret.parse(`${TEXT}\n`).keyOf('nqn.b', nvmeCrypto)).toEqual(KEY);
  });

  it.each([
    [DhchapHash.Sha256, 32],
    [DhchapHash.Sha384, 48],
    [DhchapHash.Sha512, 64],
  ])('with transform %d gives each name a key of its own, of %d bytes', async (hash, bytes) => {
    const secret = DhchapSecret.parse(secretText(1, bytes, hash));
    const keys = await Promise.all(['nqn.a', 'nqn.b'].map((nqn) => secret.keyOf(nqn, nvmeCrypto)));
    expect(keys.map(({ length }) => length)).toEqual([bytes, bytes]);
    expect(keys[0]).not.toEqual(keys[1]);
  });

  it.each([
    ['nothing', ''],
    ['another prefix', TEXT.replace('DHHC-1', 'DHHC-2')],
    ['no hash function', TEXT.replace(':00:', ':')],
    ['a hash function that there is not', TEXT.replace(':00:', ':04:')],
    ['a character that is no base64', TEXT.replace(/.:$/, '!:')],
    ['too few characters', TEXT.replace(/....:$/, ':')],
    ['a character that is another', TEXT.replace(/:00:./, ':00:Z')],
    ['a key of another length than its hash function', TEXT.replace(':00:', ':02:')],
    ['a key of 33 bytes', `DHHC-1:00:${btoa('x'.repeat(37))}:`],
    ['words behind it', `${TEXT} more`],
  ])('is refused with %s, and none of it is in the message', (_, text) => {
    let message = '';
    try {
      DhchapSecret.parse(text);
    } catch (error) {
      message = String(error);
      expect(error).toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
    }
    expect(message).toContain('a DH-HMAC-CHAP secret');
    const encoded = text.split(':')[2] ?? '';
    for (let i = 0; i + 6 <= encoded.length; i++) expect(message).not.toContain(encoded.slice(i, i + 6));
  });

  it('shows nothing of itself to what prints it', () => {
    const secret = DhchapSecret.parse(TEXT);
    const shown = `${secret} ${JSON.stringify({ secret })} ${inspect(secret, { showHidden: true, depth: 9 })}`;
    expect(shown).not.toContain(TEXT.slice(10, 20));
    expect(shown).not.toMatch(/1,\s*2,\s*3/);
  });
});
