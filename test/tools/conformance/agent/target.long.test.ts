// Goal: a device without an agent is judged by what the wire shows, as an engineer has it: the target program on its
// host, `--target-port` here. Method: one guest of Linux 6.12 that runs `rocev2-agent --target`, as a remote device on
// a wire; cases of several areas, and the target's view of connections that come and go.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startAgent } from '../../../../tools/conformance/agent/in-guest.ts';
import { CASES } from '../../../../tools/conformance/cases/index.ts';
import { RemoteDut } from '../../../../tools/conformance/duts/remote.ts';
import { runCase } from '../../../../tools/conformance/runner/run-case.ts';
import { Guest, type GuestJob } from '../../../../tools/lab/guest.ts';
import { buildImage } from '../../../../tools/lab/image.ts';
import { describeWith } from '../../../support/need.ts';
import { ADDRESS } from './support.ts';

const TARGET = 7480;

describeWith(
  ['lab', 'compiler'],
  'a target in a guest with Linux 6.12, and a tester without host control there',
  () => {
    let directory: string;
    let guest: Guest;
    let dut: RemoteDut;
    let target: GuestJob;

    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), 'roce-target-'));
      const path = join(directory, 'wire');
      const addresses = [`${ADDRESS}/24`];
      const image = await buildImage('6.12');
      guest = await Guest.boot({ image, netSocket: { path, listen: true }, addresses, mtu: 4200, hostControl: true });
      // Brings the program; nobody speaks to this one.
      await startAgent(guest);
      target = guest.spawn(`exec /run/lab/attached --device rxe0 --target ${TARGET}`);
      let said = '';
      while (!said.includes('\n')) said += (await target.output()).stderr;
      expect(said).toContain(`target at ports ${TARGET} and ${TARGET + 1}`);
      const link = `qemu:${path},connect`;
      dut = await RemoteDut.open({
        ...{ addresses: [ADDRESS], link, ip: ['10.77.0.1/24'], mtu: 4200, targetPort: TARGET },
        features: ['atomics', 'cm'],
      });
    }, 300_000);

    afterAll(async () => {
      await dut?.close();
      await target?.kill();
      await guest?.stop();
      await rm(directory, { recursive: true, force: true });
    });

    it.each([
      'PKT-01',
      'RSP-PSN-04',
      'LEN-01',
      'KEY-04',
      'RD-01',
      'ACK-01',
      'RNR-03',
      'ATM-01',
      'CM-05',
      'CM-10',
      'CM-16',
      'ANX-34',
    ])('is judged by %s', async (rule) => {
      const verdicts: string[] = [];
      for (const one of CASES.filter(({ rules }) => rules.includes(rule))) {
        const { verdict, reason } = await runCase(dut, one, { seed: 3 });
        verdicts.push(verdict === 'not-applicable' ? verdict : `${verdict} ${reason}`.trim());
      }
      expect(verdicts).toContain('pass');
      expect(verdicts.filter((verdict) => verdict !== 'pass' && verdict !== 'not-applicable')).toEqual([]);
    });

    it('shows its memory through a second connection', async () => {
      const bytes = Uint8Array.from({ length: 5000 }, (_, i) => (i * 7) & 0xff);
      const run = await runCase(
        dut,
        {
          rules: ['PKT-01'],
          async run(t) {
            const peer = await t.connect();
            await peer.setMemory(3, bytes);
            expect(await peer.memory(2, 5002)).toEqual(Uint8Array.of(0, ...bytes, 0));
            await peer.expectNextPsn(0, 1);
          },
        },
        { seed: 3 },
      );
      expect(run).toMatchObject({ verdict: 'pass', reason: '' });
    });
  },
);
