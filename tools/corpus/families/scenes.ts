/**
 * Traffic with a verdict: scenes of the symptoms that are small enough, what looks like them and is none, and sound
 * traffic of the stack on a simulated wire.
 */
import { Op } from 'rocev2/packets';
import { allScenes } from '../../symptoms/index.ts';
import { play, type Scene } from '../../symptoms/scene.ts';
import type { Stage } from '../../symptoms/stage.ts';
import type { CorpusCapture } from '../capture.ts';

/** All of them. */
export async function sceneCaptures(): Promise<readonly CorpusCapture[]> {
  const captures: CorpusCapture[] = [];
  for (const { name, about, make } of OWN) captures.push(captureOf(name, about, await make()));
  for (const scene of allScenes().filter(({ name }) => CHOSEN.includes(name))) {
    captures.push(captureOf(scene.name, scene.about, await scene.make()));
  }
  return captures;
}

function captureOf(name: string, about: string, bytes: Uint8Array): CorpusCapture {
  return { file: `scenes/${name}.pcapng`, about, traffic: true, bytes };
}

/** Small scenes of many symptoms, each with a near miss where there is a small one. */
const CHOSEN: readonly string[] = [
  ...['gid-mismatch-networks', 'gid-mismatch-v1-v2', 'gid-mismatch-behind-router', 'no-reply-mig-req'],
  ...['no-reply-firewall', 'no-reply-port-unreachable', 'no-reply-answered-in-the-end', 'pkey-mismatch-partitions'],
  ...['pkey-mismatch-full-and-limited', 'vlan-mismatch-untagged', 'vlan-mismatch-ids', 'vlan-mismatch-priority-tag'],
  ...['remote-access-first-request', 'remote-access-zero-bytes', 'remote-access-old-key', 'invalid-request-length'],
  ...[
    'invalid-request-unaligned-atomic',
    'invalid-request-sequence',
    'operational-error-two-pairs',
    'refused-no-listener',
  ],
  ...['refused-by-application', 'connect-timeout-dead-host', 'connect-slow-answer', 'icrc-invalid-castagnoli'],
  ...['icrc-invalid-nat', 'rnr-exceeded-for-ever', 'mtu-mismatch-read-responses', 'pfc-occasional'],
];

/** Sound traffic; in the last one the wire loses a packet. */
const OWN: readonly Pick<Scene, 'name' | 'about' | 'make'>[] = [
  {
    name: 'sound-wrap',
    about: 'Messages of one and of several packets whose PSNs run over 0xffffff, in both directions.',
    make: () => play({}, (stage) => exchange(stage, 4)),
  },
  {
    name: 'sound-wrap-ipv6',
    about: 'The same over IPv6.',
    make: () => play({}, (stage) => exchange(stage, 6)),
  },
  {
    name: 'sound-cm',
    about: 'A connection by the connection manager, a WRITE, a READ and an atomic.',
    make: () =>
      play({}, async (stage) => {
        const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { cm: true });
        await a.write(b, 100);
        await a.read(b, 100);
        await a.fetchAdd(b);
      }),
  },
  {
    name: 'lost-at-wrap',
    about: 'A packet is lost where the PSN wraps; the NAK names it and it is sent again.',
    make: () =>
      play({}, async (stage) => {
        const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { mtu: 256, psns: [0xff_ffff, 200] });
        stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteMiddle, nth: 1, action: 'drop' });
        await a.write(b, 1000);
      }),
  },
];

async function exchange(stage: Stage, ipVersion: 4 | 6): Promise<void> {
  const psns = [0xff_fffd, 0xff_fffe] as const;
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { ipVersion, mtu: 256, psns });
  b.receive(2);
  await a.send(700);
  await a.write(b, 300);
  await b.read(a, 600);
  await a.send(0);
}
