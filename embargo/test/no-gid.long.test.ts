/**
 * Goal: PKT-11-address-without-gid of embargo/findings.json is true: a correct packet over IPv6 to an address of the host that is no GID ends the
 * kernel, and one over IPv4 does not. Method: a guest gets an address on its loopback, and the tester's station sends one packet to it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { IpAddress, IpPrefix, parseMac } from '../../packets/address.ts';
import { buildFrame } from '../../packets/kit/build.ts';
import { pattern, sendOnly } from '../../packets/kit/packet.ts';
import { QemuLink } from '../../src/node/links/index.ts';
import { TESTED_KERNELS } from '../../test/lab/support.ts';
import { describeWith } from '../../test/support/need.ts';
import { openStation } from '../../tools/conformance/duts/live.ts';
import { Guest } from '../../tools/lab/guest.ts';
import { buildImage } from '../../tools/lab/image.ts';

const OURS = parseMac('02:00:00:00:77:01');
const THEIRS = parseMac('52:54:00:00:00:02');
const CASES = [
  { version: 4, ours: '10.77.0.1', theirs: '10.77.0.2', bits: 24, other: '10.99.0.9', whole: 32 },
  { version: 6, ours: 'fd77::1', theirs: 'fd77::2', bits: 64, other: 'fd99::9', whole: 128 },
] as const;

describeWith('lab', 'a packet to an address of the host that is no GID', () => {
  it.each(TESTED_KERNELS)(
    'ends Linux %s over IPv6, and not over IPv4',
    async (kernel) => {
      const directory = await mkdtemp(join(tmpdir(), 'roce-gid-'));
      const path = join(directory, 'wire');
      const open = await openStation(new QemuLink({ path, mtu: 4200 }), {
        mac: OURS,
        addresses: CASES.map(({ ours, bits }) => IpPrefix.parse(`${ours}/${bits}`)),
      });
      const guest = await Guest.boot({
        image: await buildImage(kernel),
        netSocket: { path },
        mac: '52:54:00:00:00:02',
        addresses: CASES.map(({ theirs, bits }) => `${theirs}/${bits}`),
        mtu: 4200,
      });
      try {
        for (const { version, ours, theirs, other, whole } of CASES) {
          await open.station.macTowards(IpAddress.parse(theirs));
          expect((await guest.run(`ip addr add ${other}/${whole} dev lo`)).code).toBe(0);
          const frame = buildFrame(
            sendOnly({ psn: 0, payload: pattern(8), ackReq: true }),
            {
              ...{ medium: open.station.medium, sourceMac: OURS, destMac: THEIRS, sourcePort: 50_000 },
              ...{ source: IpAddress.parse(ours), destination: IpAddress.parse(other) },
              ...{ trafficClass: 0, hopLimit: 64, flowLabel: 0 },
            },
            17,
            0,
          );
          open.station.send(frame, `SEND to ${other}`);
          if (version === 4) expect((await guest.run('echo alive')).stdout).toBe('alive\n');
          else expect(await guest.ended).toContain('Kernel panic');
        }
      } finally {
        await guest.stop();
        await open.close();
        await rm(directory, { recursive: true, force: true });
      }
    },
    120_000,
  );
});
