/**
 * Area ND: ARP and neighbour discovery. Silence is proven by a correct request behind the stimuli: the next answer is
 * the one to it. Sources: ref:conformance#ND.
 */
import { BROADCAST_MAC, IpAddress, type MacAddress, parseMac } from 'rocev2/packets';
import { pattern } from 'rocev2/packets/kit';
import { type Arp, ArpOperation, multicastMac, solicitedNodeAddress } from 'rocev2/packets/network';
import type { Case, Need } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { foreignAddresses, neighbourOf, ownedAddresses } from './addresses.ts';
import { RequestSequence } from './line.ts';
import { type Advertisement, type ArpReply, NeighbourAnswers, sameMac } from './nd-answers.ts';
import { announcementFrame, arpFrame, type SolicitationFrame, solicitationFrame } from './nd-frames.ts';

const ARP: readonly Need[] = ['ethernet', 'ipv4'];
const ND: readonly Need[] = ['ethernet', 'ipv6'];

export const ND_CASES: readonly Case[] = [
  { rules: ['ND-01'], needs: ARP, run: arpForOthers },
  { rules: ['ND-02'], needs: ARP, run: arpForItself },
  { rules: ['ND-03'], needs: ARP, run: arpProbe },
  { rules: ['ND-04'], needs: ARP, run: otherArp },
  { rules: ['ND-05'], needs: ND, run: solicitationsOfOthers },
  { rules: ['ND-06'], needs: ND, run: (t) => eachAnswer(t, goesToSolicitor) },
  { rules: ['ND-07'], needs: ND, run: (t) => eachAnswer(t, saysWhatWasSolicited) },
  { rules: ['ND-08'], needs: ND, run: (t) => eachAnswer(t, overridesWithItsAddress) },
  { rules: ['ND-09'], needs: ND, run: duplicateDetection },
  { rules: ['ND-10'], needs: ND, run: invalidSolicitations },
  { rules: ['ND-11'], title: 'ARP', needs: ARP, run: announcedByArp },
  { rules: ['ND-11'], title: 'neighbour discovery', needs: ND, run: announcedByAdvertisement },
];

/** A request of ours. */
function request(answers: NeighbourAnswers, targetIp: IpAddress): Arp {
  const { ours: senderIp, ourMac: senderMac } = answers;
  return { operation: ArpOperation.Request, senderMac, senderIp, targetMac: NO_MAC, targetIp };
}

/** Nothing that was sent before has drawn an answer. */
async function answersNextArp(answers: NeighbourAnswers): Promise<void> {
  answers.send(arpFrame(BROADCAST_MAC, request(answers, answers.address)), `ARP request for ${answers.address}`);
  const { senderIp, targetIp } = await answers.reply();
  demand(
    senderIp.equals(answers.address) && targetIp.equals(answers.ours),
    `an ARP reply for ${answers.address} was expected, and one for ${senderIp} to ${targetIp} came`,
  );
  await answers.noMore();
}

async function arpForOthers(t: Tester): Promise<void> {
  const answers = await NeighbourAnswers.open(t, 4);
  for (const target of addressesOfOthers(t, answers.address)) {
    for (const to of [BROADCAST_MAC, answers.mac])
      answers.send(arpFrame(to, request(answers, target)), `ARP request for ${target}`);
  }
  await answersNextArp(answers);
}

async function arpForItself(t: Tester): Promise<void> {
  const answers = await NeighbourAnswers.open(t, 4);
  for (const to of [BROADCAST_MAC, answers.mac]) {
    answers.send(arpFrame(to, request(answers, answers.address)), `ARP request for ${answers.address}`);
    isReply(answers, await answers.reply(), answers.ours);
  }
  await answers.noMore();
}

async function arpProbe(t: Tester): Promise<void> {
  const answers = await NeighbourAnswers.open(t, 4);
  const probe = { ...request(answers, answers.address), senderIp: IpAddress.parse('0.0.0.0') };
  answers.send(arpFrame(BROADCAST_MAC, probe), `ARP probe for ${answers.address}`);
  isReply(answers, await answers.reply(), probe.senderIp);
  await answers.noMore();
}

function isReply(answers: NeighbourAnswers, reply: ArpReply, to: IpAddress): void {
  const { ethernet, senderMac, senderIp, targetMac, targetIp } = reply;
  demand(answers.isOurs(ethernet.destMac), 'the ARP reply is not for the MAC address of the requester');
  demand(senderIp.equals(answers.address), `the sender of the ARP reply is ${senderIp}, not ${answers.address}`);
  demand(answers.isTheirs(senderMac), 'the ARP reply names another MAC address than the one that sends it');
  demand(targetIp.equals(to), `the target of the ARP reply is ${targetIp}, and the requester is ${to}`);
  demand(answers.isOurs(targetMac), 'the target of the ARP reply is not the MAC address of the requester');
}

async function otherArp(t: Tester): Promise<void> {
  const answers = await NeighbourAnswers.open(t, 4);
  const whole = request(answers, answers.address);
  const send = (what: string, message: Arp, edit?: (view: DataView, at: number) => void): void => {
    for (const to of [BROADCAST_MAC, answers.mac]) answers.send(arpFrame(to, message, edit), what);
  };
  for (const operation of [0, ArpOperation.Reply, ...OTHER_OPERATIONS, 0x01_00, 0xff_ff])
    send(`ARP operation ${operation}`, { ...whole, operation, targetMac: answers.mac });
  for (const type of [0, 15, 0x01_00]) send(`ARP for hardware ${type}`, whole, (view, at) => view.setUint16(at, type));
  for (const type of [0, 0x86_dd, 0x00_08])
    send(`ARP for protocol ${type}`, whole, (view, at) => view.setUint16(at + 2, type));
  for (const length of [0, 5, 8]) send(`ARP, MAC of ${length}`, whole, (view, at) => view.setUint8(at + 4, length));
  for (const length of [0, 3, 16]) send(`ARP, IP of ${length}`, whole, (view, at) => view.setUint8(at + 5, length));
  await answersNextArp(answers);
}

/** How a solicitation reaches the device: its address and MAC address, or the group of the target. */
type To = Pick<SolicitationFrame, 'destination' | 'destMac'>;

const toGroup = (target: IpAddress): To => {
  const destination = solicitedNodeAddress(target);
  return { destination, destMac: multicastMac(destination) };
};
const toDevice = ({ address, mac }: NeighbourAnswers): To => ({ destination: address, destMac: mac });

/** A solicitation of ours, with our MAC address in it. */
function solicitation(answers: NeighbourAnswers, to: To, target = answers.address): SolicitationFrame {
  const { ours: source, ourMac } = answers;
  return { ...to, source, sourceMac: ourMac, target, option: ourMac };
}

/** Nothing that was sent before has drawn an answer. */
async function answersNextSolicitation(answers: NeighbourAnswers): Promise<void> {
  const { address, ours } = answers;
  answers.send(solicitationFrame(solicitation(answers, toGroup(address))), `solicitation for ${address}`);
  const { ip, message } = await answers.advertisement();
  demand(message !== undefined, 'an advertisement came that is not valid');
  demand(
    message.target.equals(address) && ip.destination.equals(ours),
    `an advertisement of ${address} was expected, and one of ${message.target} to ${ip.destination} came`,
  );
  await answers.noMore();
}

async function solicitationsOfOthers(t: Tester): Promise<void> {
  const answers = await NeighbourAnswers.open(t, 6);
  const { address } = answers;
  for (const target of [...addressesOfOthers(t, address), ofTheSameGroup(address)]) {
    if (target.isMulticast) continue;
    for (const to of [toGroup(target), toDevice(answers)])
      answers.send(solicitationFrame(solicitation(answers, to, target)), `solicitation for ${target}`);
  }
  await answersNextSolicitation(answers);
}

/** What is looked at in the answer to a solicitation. */
type AnswerCheck = (answers: NeighbourAnswers, asked: SolicitationFrame, answer: Advertisement) => void;

/** From two addresses, to the group and to the device; to the device also without our MAC address, which it knows. */
async function eachAnswer(t: Tester, check: AnswerCheck): Promise<void> {
  const answers = await NeighbourAnswers.open(t, 6);
  const both = [toGroup(answers.address), toDevice(answers)].map((to) => solicitation(answers, to));
  const without = { ...solicitation(answers, toDevice(answers)), option: undefined };
  for (const one of [...both, ...both.map((each) => ({ ...each, source: linkLocal(answers.ourMac) })), without]) {
    answers.send(solicitationFrame(one), `solicitation for ${one.target}, from ${one.source} to ${one.destination}`);
    check(answers, one, await answers.advertisement());
  }
  await answers.noMore();
}

function goesToSolicitor(answers: NeighbourAnswers, { source }: SolicitationFrame, answer: Advertisement): void {
  const { ethernet, ip } = answer;
  demand(ip.destination.equals(source), `the advertisement is for ${ip.destination}, and ${source} has solicited`);
  demand(answers.isOurs(ethernet.destMac), 'the advertisement is not for the MAC address that has solicited');
  demand(!ip.source.isMulticast && !isUnspecified(ip.source), `the advertisement comes from ${ip.source}`);
}

function saysWhatWasSolicited(answers: NeighbourAnswers, asked: SolicitationFrame, answer: Advertisement): void {
  const { message, ip } = answer;
  demand(message !== undefined, `the advertisement is not valid: ${whyInvalid(ip.hopLimit)}`);
  demand(message.solicited, 'the advertisement that answers a solicitation has no solicited flag');
  namesTarget(answers, asked, message);
}

function namesTarget(
  answers: NeighbourAnswers,
  { target, destination }: SolicitationFrame,
  message: NonNullable<Advertisement['message']>,
): void {
  demand(message.target.equals(target), `the advertisement is of ${message.target}, and ${target} was solicited`);
  if (message.targetMac === undefined)
    demand(!destination.isMulticast, 'the advertisement that answers a multicast has no MAC address');
  else demand(answers.isTheirs(message.targetMac), 'the advertisement names another MAC address than its sender');
}

function overridesWithItsAddress(_: NeighbourAnswers, { destination }: SolicitationFrame, answer: Advertisement): void {
  demand(answer.message !== undefined, 'the advertisement is not valid');
  const { override, targetMac } = answer.message;
  const has = targetMac !== undefined;
  const what = `an advertisement ${has ? 'with' : 'without'} a MAC address, for a solicitation to ${destination}`;
  demand(override === has, `${what}, has ${override ? 'the' : 'no'} override flag`);
}

const whyInvalid = (hopLimit: number): string =>
  hopLimit === 255 ? 'code, length, target, option, checksum or a solicited flag to a group' : `hop limit ${hopLimit}`;

async function duplicateDetection(t: Tester): Promise<void> {
  const answers = await NeighbourAnswers.open(t, 6);
  const whole = solicitation(answers, toGroup(answers.address));
  const one = { ...whole, source: IpAddress.parse('::'), option: undefined };
  answers.send(solicitationFrame(one), `solicitation for ${one.target}, from ::`);
  const { ethernet, ip, message } = await answers.advertisement();
  const all = IpAddress.parse('ff02::1');
  demand(ip.destination.equals(all), `the advertisement is for ${ip.destination}, not for all nodes`);
  demand(sameMac(ethernet.destMac, multicastMac(all)), 'the advertisement is not for the MAC address of all nodes');
  demand(message !== undefined, `the advertisement is not valid: ${whyInvalid(ip.hopLimit)}`);
  demand(!message.solicited, 'the advertisement to all nodes has the solicited flag');
  namesTarget(answers, one, message);
  await answers.noMore();
}

async function invalidSolicitations(t: Tester): Promise<void> {
  const answers = await NeighbourAnswers.open(t, 6);
  const nobody = { source: IpAddress.parse('::') };
  for (const to of [toGroup(answers.address), toDevice(answers)]) {
    const whole = solicitation(answers, to);
    const wrong: readonly (readonly [string, SolicitationFrame])[] = [
      ...[0, 1, 64, 254].map((hopLimit) => [`hop limit ${hopLimit}`, { ...whole, hopLimit }] as const),
      ['code 1', { ...whole, edit: (view, at) => view.setUint8(at + 1, 1) }],
      ['checksum 0', { ...whole, spoil: (view, at) => view.setUint16(at + 2, 0) }],
      ['wrong checksum', { ...whole, spoil: (view, at) => view.setUint8(at + 3, view.getUint8(at + 3) ^ 1) }],
      ['20 bytes', { ...whole, option: undefined, length: 20 }],
      ['a group as target', { ...whole, target: solicitedNodeAddress(answers.address) }],
      ['an option of length 0', { ...whole, edit: (view, at) => view.setUint8(at + OPTION_LENGTH_AT, 0) }],
      ['a MAC address from ::', { ...whole, ...nobody }],
    ];
    for (const [what, one] of wrong) answers.send(solicitationFrame(one), `solicitation, ${what}`);
  }
  const toItself = { ...solicitation(answers, toDevice(answers)), ...nobody, option: undefined };
  answers.send(solicitationFrame(toItself), 'solicitation from :: to the device');
  await answersNextSolicitation(answers);
}

async function announcedByArp(t: Tester): Promise<void> {
  const answers = await NeighbourAnswers.open(t, 4);
  const { ours, mac, address } = answers;
  const moved = { ...request(answers, ours), senderMac: ELSEWHERE };
  const reply = { ...moved, operation: ArpOperation.Reply, targetMac: mac, targetIp: address };
  const known = arpFrame(BROADCAST_MAC, request(answers, address));
  await keepsItsPath(t, answers, known, [
    { frame: arpFrame(BROADCAST_MAC, moved), note: 'a gratuitous ARP request of another MAC address' },
    { frame: arpFrame(mac, reply), note: 'an unsolicited ARP reply of another MAC address' },
  ]);
}

async function announcedByAdvertisement(t: Tester): Promise<void> {
  const answers = await NeighbourAnswers.open(t, 6);
  const all = IpAddress.parse('ff02::1');
  const from = { source: answers.ours, sourceMac: ELSEWHERE };
  const known = solicitationFrame(solicitation(answers, toGroup(answers.address)));
  const frames = [{ destination: all, destMac: multicastMac(all) }, toDevice(answers)].map((to) =>
    announcementFrame({ ...from, ...to }, answers.ours, ELSEWHERE),
  );
  const note = 'an unsolicited advertisement of another MAC address';
  await keepsItsPath(
    t,
    answers,
    known,
    frames.map((frame) => ({ frame, note })),
  );
}

/** `known` makes the device believe in our own MAC address again, however the case ends. */
async function keepsItsPath(
  t: Tester,
  answers: NeighbourAnswers,
  known: Uint8Array,
  announcements: readonly { readonly frame: Uint8Array; readonly note: string }[],
): Promise<void> {
  const line = await RequestSequence.open(t, { version: answers.address.version });
  await line.accepts(line.write(pattern(8)));
  try {
    for (const { frame, note } of announcements) {
      answers.send(frame, note);
      await answeredHere(line, note);
      await t.sleep(t.dut.quietNs);
      await answeredHere(line, note);
    }
  } finally {
    answers.send(known, 'what the device had learnt before');
    await t.sleep(t.dut.quietNs);
  }
}

/** The ACK of a WRITE comes to our MAC address. */
async function answeredHere(line: RequestSequence, note: string): Promise<void> {
  const { peer } = line;
  peer.tx(line.write(pattern(8))(line.psn));
  const answer = await peer.take();
  demand(answer !== undefined, `after ${note} the answers of the device go elsewhere`);
  peer.inbox.unread(answer.sighting);
  await peer.expectAck(line.psn++, ++line.msn);
}

/** Addresses that the device does not have, as far as its host says which it has. */
function addressesOfOthers(t: Tester, address: IpAddress): IpAddress[] {
  const { version } = address;
  const gids = t.dut.hostControl?.description.gids ?? [];
  const own = gids.map((gid) => IpAddress.parse(gid.address));
  return [neighbourOf(`${address}`), ...foreignAddresses(version), ...ownedAddresses(version)]
    .map((text) => IpAddress.parse(text))
    .filter((other) => !own.some((one) => one.equals(other)));
}

/** An address of another network whose solicitations go to the same group. */
const ofTheSameGroup = ({ w2, w3 }: IpAddress): IpAddress => new IpAddress(6, 0x20_01_0d_b8, 0x00_77_00_00, w2, w3);

/** Our link-local address, as RFC 4291 appendix A makes it of a MAC address. */
function linkLocal(mac: MacAddress): IpAddress {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = mac;
  return new IpAddress(
    6,
    0xfe_80_00_00,
    0,
    ((a ^ 2) << 24) | (b << 16) | (c << 8) | 0xff,
    0xfe_00_00_00 | (d << 16) | (e << 8) | f,
  );
}

const isUnspecified = ({ w0, w1, w2, w3 }: IpAddress): boolean => (w0 | w1 | w2 | w3) === 0;

const NO_MAC: MacAddress = new Uint8Array(6);
/** Of no host of ours. */
const ELSEWHERE = parseMac('02:00:00:00:77:66');
/** RARP, InARP and what is assigned beyond. */
const OTHER_OPERATIONS = [3, 4, 8, 9, 25];
/** Of the first option, from the beginning of the message. */
const OPTION_LENGTH_AT = 25;
