/**
 * Automatic path migration: which packets move a connection to its alternate path, what its packets say then, and that
 * it moves when the retries run out (PKT-23 to PKT-25, REQ-41). The primary path has IPv4 addresses, the alternate one
 * those of IPv6.
 */
import { Op } from 'rocev2/packets';
import { ack, type Packet, readOnly, readRequest, type Sighting } from 'rocev2/packets/kit';
import { WcStatus } from 'rocev2/transport';
import type { Case } from '../tester/case.ts';
import type { TesterConnectOptions } from '../tester/connect.ts';
import { demand } from '../tester/outcome.ts';
import type { ReceivedPacket, TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { target } from './answers.ts';

const NEEDS = ['host-control', 'apm', 'ipv4', 'ipv6'] as const;

export const MIGRATION_CASES: readonly Case[] = [
  { rules: ['PKT-23'], needs: NEEDS, run: followsOnlyItsPath },
  { rules: ['PKT-24'], needs: NEEDS, run: (t) => saysSo(t, ledByPeer) },
  { rules: ['PKT-24'], title: 'by verbs', needs: NEEDS, run: (t) => saysSo(t, ledByVerbs) },
  { rules: ['PKT-25'], needs: NEEDS, run: tellsItsHost },
  { rules: ['REQ-41'], needs: NEEDS, run: migratesAfterRetries },
];

type Path = Required<Pick<Packet, 'source' | 'destination'>>;

async function followsOnlyItsPath(t: Tester): Promise<void> {
  const moved = t.premise('the device migrates for a packet on the alternate path');
  const { peer, primary, alternate } = await armed(t);
  const foreign = [
    { ...primary, source: '192.0.2.77' },
    { ...alternate, source: '2001:db8::77' },
    { source: primary.source, destination: '192.0.2.78' },
  ];
  for (const from of foreign) peer.tx(probe(peer, 1, from, 1));
  peer.tx(probe(peer, 1, primary, 0));
  await answered(peer, 1, primary, 'after MigReq 1 from foreign addresses');
  peer.tx(probe(peer, 2, primary, 1));
  await answered(peer, 2, primary, 'after MigReq 1 on the primary path');
  peer.tx(probe(peer, 3, primary, 0));
  await answered(peer, 3, primary, 'after MigReq 1 on the primary path');
  peer.tx(probe(peer, 4, alternate, 1));
  await answered(peer, 4, alternate, 'after MigReq 1 on the alternate path');
  moved();
}

async function saysSo(t: Tester, migrate: (peer: TesterPeer) => Promise<unknown>): Promise<void> {
  const { peer, alternate, before } = await armed(t);
  demand(before.sighting.migReq === 0, 'an answer of an armed queue pair carries MigReq 1');
  await migrate(peer);
  peer.tx(probe(peer, 1, alternate, 1));
  const answer = await answered(peer, 1, alternate, 'after the migration');
  demand(answer.sighting.migReq === 1, 'an answer after the migration carries MigReq 0');
  const request = await sendOf(peer, alternate);
  demand(request.sighting.migReq === 1, 'a request after the migration carries MigReq 0');
}

async function tellsItsHost(t: Tester): Promise<void> {
  const { peer, alternate } = await armed(t);
  const { events } = await t.hostControl.call('events', {});
  demand(!events.some(({ event }) => event === MIGRATED), `the event ${MIGRATED} came before the migration`);
  peer.tx(probe(peer, 1, alternate, 1));
  await answered(peer, 1, alternate, 'after the migration');
  await toldOf(t, peer);
  await sendOf(peer, alternate);
  await t.sleep(t.dut.quietNs);
  const later = (await t.hostControl.call('events', {})).events;
  demand(!later.some(({ event }) => event === MIGRATED), `the event ${MIGRATED} came twice`);
}

async function migratesAfterRetries(t: Tester): Promise<void> {
  const { peer, primary, alternate } = await armed(t, { timeout: 10, retryCnt: 1 });
  await peer.post({ wrId: 1, opcode: 'send', pieces: [] });
  const first = await peer.rx({ opcode: Op.SendOnly, psn: 0 });
  demand(isOn(first.sighting, primary), 'before its retries ran out the device left the primary path');
  let again = first;
  // How many retries there are is another rule's; a device that never stops breaks this one.
  for (let i = 0; i < 16 && isOn(again.sighting, primary); i++) again = await peer.rx({ opcode: Op.SendOnly, psn: 0 });
  demand(isOn(again.sighting, alternate), 'when its retries had run out the SEND did not come on the alternate path');
  await toldOf(t, peer);
  peer.tx({ ...ack({ psn: 0, msn: 1 }), ...alternate });
  const [completion] = await peer.sendCompletions(1);
  demand(
    completion?.status === WcStatus.Success,
    `a SEND that was acknowledged on the alternate path completed with status ${completion?.status}`,
  );
  const state = await peer.state();
  demand(state === 'RTS', `after the migration the queue pair is in ${state}`);
}

const MIGRATED = 'path-mig';

interface Armed {
  readonly peer: TesterPeer;
  readonly primary: Path;
  readonly alternate: Path;
  /** What the armed queue pair answered. */
  readonly before: ReceivedPacket;
}

/** A connection with an alternate path that both ends have armed: PSN 0 was a packet with MigReq 0. */
async function armed(t: Tester, options: TesterConnectOptions = {}): Promise<Armed> {
  const peer = await t.connect({ ...options, version: 4, alternate: 6 });
  const [primary, alternate] = [pathOf(t, 4), pathOf(t, 6)];
  peer.tx(probe(peer, 0, primary, 0));
  return { peer, primary, alternate, before: await answered(peer, 0, primary, 'before anything has moved') };
}

/** The peer migrates: its next packet, on the alternate path, moves the device. */
const ledByPeer = async (): Promise<void> => undefined;

const ledByVerbs = (peer: TesterPeer): Promise<unknown> => peer.modify({ pathMigState: 'MIGRATED' });

/** A SEND of the device, on this path. Acknowledged, so that it is not repeated. */
async function sendOf(peer: TesterPeer, path: Path): Promise<ReceivedPacket> {
  await peer.post({ wrId: 1, opcode: 'send', pieces: [] });
  const request = await peer.rx({ opcode: Op.SendOnly, psn: 0 });
  peer.tx({ ...ack({ psn: 0, msn: 1 }), ...path });
  demand(isOn(request.sighting, path), 'a request after the migration went by another path');
  return request;
}

async function toldOf(t: Tester, peer: TesterPeer): Promise<void> {
  const { qp } = await t.event(MIGRATED);
  demand(qp === peer.qp, `the event ${MIGRATED} names queue pair ${qp}, not ${peer.qp}`);
}

const isOn = ({ ip }: Sighting, path: Path): boolean =>
  `${ip.destination}` === path.source && `${ip.source}` === path.destination;

function pathOf(t: Tester, version: 4 | 6): Path {
  const { address, ours } = t.address(version);
  return { source: `${ours}`, destination: `${address}` };
}

/** A READ of nothing: the answer shows that it was taken, and where the device sends. */
const probe = (peer: TesterPeer, psn: number, path: Path, migReq: 0 | 1): Packet => ({
  ...readRequest({ psn, reth: target(peer, 0, 0) }),
  ...path,
  migReq,
});

async function answered(peer: TesterPeer, psn: number, path: Path, when: string): Promise<ReceivedPacket> {
  const answer = await peer.rx(readOnly({ psn, msn: psn + 1, payload: new Uint8Array(0) }));
  const { source, destination } = answer.sighting.ip;
  demand(
    isOn(answer.sighting, path),
    `${when}: the answer went from ${source} to ${destination}, for ${path.destination} to ${path.source}`,
  );
  demand(answer.sighting.opcode === Op.ReadResponseOnly, 'the answer is no READ response');
  return answer;
}
