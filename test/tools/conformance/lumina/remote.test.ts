/**
 * Goal: two devices with agents of their own, and a bump between their cables, are judged as guests are; what is not
 * there is named. Method: devices of ours on Unix sockets, each behind an agent on loopback; a few scenarios without
 * timeouts in real time.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenDevice, openDevice } from '../../../../src/index.ts';
import { inProcessHostControl } from '../../../../tools/conformance/host-control/in-process.ts';
import { serveHostControl } from '../../../../tools/conformance/host-control/server.ts';
import { openRemotes, type RemoteEnd } from '../../../../tools/conformance/lumina/remote.ts';
import { runLuminaOn } from '../../../../tools/conformance/lumina/run.ts';
import { SCENARIOS } from '../../../../tools/conformance/lumina/scenario.ts';

const directory = mkdtempSync(join(tmpdir(), 'roce-lumina-test-'));
const devices: OpenDevice[] = [];
const servers: Server[] = [];
const ends: RemoteEnd[] = [];

/** An agent that opens its device when the cable is there: when somebody asks. */
async function serve(host: 1 | 2): Promise<RemoteEnd> {
  const path = join(directory, `${host}`);
  const server = createServer((socket) => {
    void openDevice({ link: `qemu:${path},connect`, addresses: [`192.0.2.${host}/24`] }).then((open) => {
      devices.push(open);
      return serveHostControl(inProcessHostControl(open.device), socket);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { link: `qemu:${path}`, agent: `127.0.0.1:${port}`, addresses: [`192.0.2.${host}`] };
}

beforeAll(async () => {
  ends.push(await serve(1), await serve(2));
});

afterAll(async () => {
  await Promise.all(devices.map((open) => open.close()));
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  rmSync(directory, { recursive: true, force: true });
});

const [a, b] = [() => ends[0], () => ends[1]].map((end) => (changes: Partial<RemoteEnd> = {}): RemoteEnd => {
  const one = end();
  if (one === undefined) throw new Error('nothing is served');
  return { ...one, ...changes };
});
if (a === undefined || b === undefined) throw new Error('there are two ends');

describe('two devices with agents', () => {
  it('are judged in both roles', async () => {
    const theatre = await openRemotes(a(), b());
    try {
      const names = ['write, nothing lost', 'send, middle packet lost', 'read, middle packet lost'];
      const scenarios = SCENARIOS.filter(({ name }) => names.includes(name));
      const { runs, results } = await runLuminaOn(theatre, 'two of ours', { scenarios });
      expect(runs.map(({ fault }) => fault)).toEqual(Array(6).fill(undefined));
      expect(results.filter(({ verdict }) => verdict !== 'pass' && verdict !== 'inconclusive')).toEqual([]);
      const seen = (rule: string) => results.find((one) => one.rule === rule)?.seen;
      expect([seen('RSP-PSN-04'), seen('RD-18'), seen('REQ-24')]).toEqual([2, 2, 2]);
    } finally {
      await theatre.close();
    }
  });

  it('are refused when an address is none of theirs, or nobody is there', async () => {
    const wrong = openRemotes(a({ addresses: ['192.0.2.77'] }), b());
    await expect(wrong).rejects.toMatchObject({ code: 'ERR_ROCE_ADDRESS' });
    await expect(openRemotes(a({ addresses: [] }), b())).rejects.toMatchObject({ code: 'ERR_ROCE_ADDRESS' });
    const nobody = openRemotes(a({ agent: '127.0.0.1:1' }), b());
    await expect(nobody).rejects.toMatchObject({ code: 'ERR_ROCE_LINK_UNAVAILABLE' });
  });
});
