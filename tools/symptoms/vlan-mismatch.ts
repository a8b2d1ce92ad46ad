/** Scenes of `vlan-mismatch`: two ends in different VLANs, and captures that show only half of the tags. */
import { IpAddress } from 'rocev2/packets';
import { WcStatus } from 'rocev2/transport';
import { crossedSends } from './crossed.ts';
import { station, tcpFrame, withVlan } from './forge.ts';
import { rewriteCapture } from './rewrite.ts';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

const SYMPTOM = 'vlan-mismatch';
const BOTH = { vantages: ['A'] };

/** All of them. */
export const VLAN_MISMATCH_SCENES: readonly Scene[] = [
  {
    symptom: SYMPTOM,
    name: 'vlan-mismatch-untagged',
    triggers: true,
    about:
      'A took the GID of eth0 and sends without a tag, B that of eth0.20 and sends with VLAN 20, seen at the switch.',
    make: () => play(BOTH, (stage) => crossedSends(stage, {}, { vlanTci: 20 })),
  },
  {
    symptom: SYMPTOM,
    name: 'vlan-mismatch-ids',
    triggers: true,
    about: 'VLAN 20 against VLAN 30, with the same priority.',
    make: () => play(BOTH, (stage) => crossedSends(stage, { vlanTci: PRIORITY_3 | 20 }, { vlanTci: PRIORITY_3 | 30 })),
  },
  {
    symptom: SYMPTOM,
    name: 'vlan-mismatch-other-network',
    triggers: true,
    about: 'The VLAN of B has a network of its own, so addresses and tags differ: one finding for both.',
    make: () => play(BOTH, (stage) => crossedSends(stage, {}, { ...OTHER_NETWORK, vlanTci: 20 })),
  },
  {
    symptom: SYMPTOM,
    name: 'vlan-mismatch-priority-tag',
    triggers: false,
    alsoFinds: ['no-reply'],
    about: 'B sends with a tag that has a priority and no VLAN id, which is no other VLAN: plain silence.',
    make: () => play(BOTH, (stage) => crossedSends(stage, {}, { vlanTci: PRIORITY_3 })),
  },
  {
    symptom: SYMPTOM,
    name: 'vlan-mismatch-trunk-works',
    triggers: false,
    about: 'Sound traffic, captured on a trunk that shows the packets of B with a tag and those of A without one.',
    make: async () =>
      rewriteCapture(await play(BOTH, soundTraffic), ({ bytes }) => (bytes[11] === 2 ? withVlan(bytes, 20) : bytes)),
  },
  {
    symptom: SYMPTOM,
    name: 'vlan-mismatch-trunk-silence',
    triggers: false,
    alsoFinds: ['no-reply'],
    about: 'The same trunk and a firewall: TCP between A and B shows the same tags, and works.',
    make: () => play(BOTH, trunkAndFirewall),
  },
  {
    symptom: SYMPTOM,
    name: 'vlan-mismatch-two-places',
    triggers: false,
    alsoFinds: ['no-reply'],
    about:
      'The packets of A at the port of A, without a tag, and those of B at the port of B, with one: nothing to compare.',
    make: () =>
      play(
        {
          vantages: ['A', 'B'],
          keep: ({ vantage, bytes }) => bytes[11] === 9 || (vantage === 'A') === (bytes[11] === 1),
        },
        twoPlaces,
      ),
  },
];

async function soundTraffic(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  b.receive(3);
  for (let i = 0; i < 3; i++) demandStatus(await a.send(3_000), WcStatus.Success);
  demandStatus(await b.write(a, 5_000), WcStatus.Success);
}

async function twoPlaces(stage: Stage): Promise<void> {
  await Promise.all([crossedSends(stage, {}, {}, 'A'), crossedSends(stage, { vlanTci: 20 }, { vlanTci: 20 }, 'B')]);
}

async function trunkAndFirewall(stage: Stage): Promise<void> {
  const [a, b] = [station(1), station(2)];
  await stage.forgeAll([
    tcpFrame(a, b, 40_000, 18_515, TCP_SYN),
    withVlan(tcpFrame(b, a, 18_515, 40_000, TCP_SYN | TCP_ACK), 20),
    tcpFrame(a, b, 40_000, 18_515, TCP_ACK),
  ]);
  await crossedSends(stage, {}, { vlanTci: 20 });
}

/** The second addresses of the two hosts. */
const OTHER_NETWORK = {
  from: { mac: station(2).mac, address: IpAddress.parse('10.0.20.2') },
  to: { mac: station(1).mac, address: IpAddress.parse('10.0.20.1') },
};
const PRIORITY_3 = 3 << 13;
const TCP_SYN = 0x02;
const TCP_ACK = 0x10;
