/**
 * Goal: `roce links` says what can be used here and what the rest lacks, of any kind of link and on any machine.
 * Method: made-up kinds and interfaces, whole outputs; the real command once, as a process.
 */
import { describe, expect, it } from 'vitest';
import { Medium } from '../../packets/frame.ts';
import { LINK_KINDS, type LinkEcn, type LinkKind, openLink } from '../../src/node/links/index.ts';
import { readInterfaces } from '../../tools/links/interfaces.ts';
import { describeSurvey } from '../../tools/links/report.ts';
import { surveyLinks } from '../../tools/links/survey.ts';
import { startRoce } from './roce/run-roce.ts';

const MISSING = { what: 'the package cap', met: false, remedy: 'npm install cap' };
const PRIVILEGE = { what: 'the privilege CAP_NET_RAW', met: false, remedy: 'run as root' };
const LINUX = { what: 'Linux', met: true, remedy: 'use another system' };

const ECN: Readonly<Record<string, LinkEcn>> = {
  udp6: { set: [6], read: [], reason: 'nobody tells of what arrives' },
  pcap: { set: [4], read: [4] },
  pigeon: { set: [], read: [] },
  parrot: { set: [4, 6], read: [4], reason: 'it repeats, and listens badly' },
};

function kind(name: string, usage: string, requirements: LinkKind['requirements']): LinkKind {
  return {
    name,
    usage,
    summary: `the ${name} link`,
    medium: Medium.Ethernet,
    ecn: ECN[name] ?? { set: [4, 6], read: [4, 6] },
    requirements,
    open: () => {
      throw new Error('the survey goes through openLink');
    },
  };
}

const ETH0 = { name: 'eth0', mtu: 1500, mac: '02:00:00:00:00:01', addresses: ['192.0.2.1/24'] };
const BARE = { name: 'wlan0', mtu: null, mac: null, addresses: [] };

describe('the survey of links', () => {
  it('lists every kind there is, and the simulated wire before them', async () => {
    const { links } = await surveyLinks();
    expect(links.map(({ name }) => name)).toEqual(['in-process', ...LINK_KINDS.map(({ name }) => name)]);
    for (const { requirements, usable } of links) expect(usable).toBe(requirements.every(({ met }) => met));
  });

  it('prints what is usable, what is missing and how to get it, and what can be typed for each interface', async () => {
    const kinds = [
      kind('qemu', 'PATH[,connect]', async () => []),
      kind('pcap', 'INTERFACE', async () => [LINUX, MISSING, PRIVILEGE]),
      kind('udp6', 'ADDRESS[,port=N]', async () => [LINUX]),
      kind('pigeon', 'COLOUR', async () => []),
      kind('parrot', 'COLOUR', async () => []),
    ];
    const survey = await surveyLinks(kinds, [ETH0, BARE]);
    expect(describeSurvey(survey)).toEqual([
      'Links, as --link takes them:',
      '  link                   medium    ECN             here',
      '  in-process             either    yes             yes   simulated wires between devices of one process: World, attachDevice, roce demo',
      '  qemu:PATH[,connect]    Ethernet  yes             yes   the qemu link',
      '  pcap:INTERFACE         Ethernet  IPv4            no    the pcap link',
      '  udp6:ADDRESS[,port=N]  Ethernet  IPv6 set        yes   the udp6 link',
      '  pigeon:COLOUR          Ethernet  no              yes   the pigeon link',
      '  parrot:COLOUR          Ethernet  IPv4, IPv6 set  yes   the parrot link',
      '',
      'pcap lacks',
      '  the package cap; npm install cap',
      '  the privilege CAP_NET_RAW; run as root',
      '',
      'ECN on udp6: nobody tells of what arrives',
      '',
      'ECN on parrot: it repeats, and listens badly',
      '',
      'Interfaces of this machine, and the links that can be used on each:',
      // An IPv4 address is none for udp6.
      '  eth0: mtu 1500; 02:00:00:00:00:01; 192.0.2.1/24',
      '  wlan0',
    ]);
  });

  it('offers an interface to the kinds that take one and are usable, its addresses to those that take these', async () => {
    const typed = async (one: LinkKind, addresses: readonly string[] = ['192.0.2.1/24']) =>
      (await surveyLinks([one], [{ ...ETH0, name: 'lo', addresses }])).interfaces[0]?.links;
    const ready = async () => [LINUX];
    expect(await typed(kind('pcap', 'INTERFACE[,mtu=N]', ready))).toEqual(['pcap:lo']);
    expect(await typed(kind('pcap', 'INTERFACE[,mtu=N]', async () => [MISSING]))).toEqual([]);
    expect(await typed(kind('udp6', '[ADDRESS][,port=N]', ready), ['127.0.0.1/8', '::1/128'])).toEqual(['udp6:[::1]']);
    expect(await typed(kind('qemu', 'PATH', ready))).toEqual([]);
    expect(await typed(kind('carrier-pigeon', 'INTERFACE', ready))).toEqual([]);
  });

  it('says so when there is no interface', async () => {
    expect(describeSurvey(await surveyLinks([], [])).slice(-2)).toEqual([
      'Interfaces of this machine, and the links that can be used on each:',
      '  none',
    ]);
  });
});

it.each(LINK_KINDS.map(({ name }) => name))('what is said of ECN on %s is what its links say of themselves', (name) => {
  const kind = LINK_KINDS.find((one) => one.name === name);
  const target = kind?.usage.startsWith('ADDRESS') ? '[::1]' : kind?.usage.startsWith('IP') ? '::1/128' : 'some0';
  expect(openLink(`${name}:${target}`).ecn).toEqual(kind?.ecn);
});

it('interfaces are read with what the system says of them, the loopback among them', () => {
  const loopback = readInterfaces().find(({ name }) => name === 'lo' || name === 'lo0');
  expect(loopback?.mac).toBeNull();
  expect(loopback?.mtu === null || (loopback?.mtu ?? 0) > 1000).toBe(true);
});

it('the command ends with 0, prints JSON when asked to, and needs nothing but Node', async () => {
  const [text, json] = await Promise.all([startRoce(['links']).ended, startRoce(['links', '--json']).ended]);
  expect(text).toMatchObject({ code: 0, stderr: '' });
  expect(text.stdout).toMatch(/^Links, as --link takes them:\n/);
  expect(json).toMatchObject({ code: 0, stderr: '' });
  const { links, interfaces } = JSON.parse(json.stdout);
  expect(links).toContainEqual(expect.objectContaining({ name: 'qemu', usable: true, requirements: [] }));
  expect(interfaces).toContainEqual(expect.objectContaining({ name: expect.any(String), links: expect.any(Array) }));
});
