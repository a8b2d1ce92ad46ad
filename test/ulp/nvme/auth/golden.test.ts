// Goal: our responses are those that Linux computes, with every group, hash function and kind of secret.
// Method: what kernels of guests have computed in authentications with us, as host and as controller, is recorded in
// test/vectors/dhchap.json by test/interop/nvme-auth-suite.ts. Secrets that nvme-cli 2.3 has made are below.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { nvmeCrypto } from '../../../../src/node/nvme/crypto.ts';
import { controllerResponse, hostResponse } from '../../../../src/ulp/nvme/auth/response.ts';
import { DhchapSecret } from '../../../../src/ulp/nvme/auth/secret.ts';
import { dhchapGroupName, dhchapHashName } from '../../../../src/ulp/nvme/codec/index.ts';
import type { KernelResponse } from '../../../interop/dhchap-recorder.ts';

const VECTORS = new URL('../../../vectors/dhchap.json', import.meta.url);
const RESPONSES: readonly KernelResponse[] = JSON.parse(readFileSync(VECTORS, 'utf8'));

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));
const named = RESPONSES.map((vector) => {
  const { kernel, role, hash, group, secret } = vector;
  const how = `${dhchapHashName(hash)}, ${dhchapGroupName(group)}, secret of kind ${secret.slice(7, 9)}`;
  return [kernel, role, how, vector] as const;
});

describe('the responses of Linux', () => {
  it.each(named)('%s as %s with %s are ours', async (_kernel, role, _how, vector) => {
    const { challenge, sequence, shared, secret, response } = vector;
    const asked = { value: bytes(challenge), sequence, shared: shared === null ? undefined : bytes(shared) };
    const respond = role === 'host' ? hostResponse : controllerResponse;
    expect(await respond(nvmeCrypto, vector, asked, DhchapSecret.parse(secret))).toEqual(bytes(response));
  });

  it('are of both kernels, in both roles, with every group and hash function', () => {
    const kinds = new Set(
      RESPONSES.flatMap(({ kernel, role, hash, group }) => [kernel, role, `h${hash}`, `g${group}`]),
    );
    expect([...kinds].sort()).toEqual(
      ['6.12', 'sid', 'controller', 'host', 'h1', 'h2', 'h3', 'g0', 'g1', 'g2', 'g3', 'g4', 'g5'].sort(),
    );
  });
});

describe('secrets of nvme-cli', () => {
  it.each([
    [0, 'DHHC-1:00:PNRAF+VGPY+eAIFHSOowgEsvyBnHH0gohG1wdqc3ZE2B+ZFp:'],
    [1, 'DHHC-1:01:xywULf8K3MDtZ6pfaCSJWE5QpWfcymjYUODSJg9xs8pz3l0r:'],
    [2, 'DHHC-1:02:18ooLAmS8cusZZMm+lUw605J0z0x2r8ancHD4LVPee0JwiaNoDsqz+fcJbJe8GcSNcxmSA==:'],
    [3, 'DHHC-1:03:cnaPHG5mxhp2AC1TGcbA1pflgA7mdexurTr5vlQJpAg1fd8ghomjvzHZy+S7DrOdooyjjWq4Mvsxo/+c+7cNEzzCPO8=:'],
  ])('of kind %d are read', (hash, text) => {
    expect(DhchapSecret.parse(text).hash).toBe(hash);
  });
});
