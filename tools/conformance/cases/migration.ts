/** PKT-23: which packets move a connection to its alternate path. Takes addresses of both IP versions. */
import { Op } from 'rocev2/packets';
import { type Packet, readOnly, readRequest } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { target } from './answers.ts';

export const MIGRATION_CASES: readonly Case[] = [
  { rules: ['PKT-23'], needs: ['host-control', 'apm', 'ipv4', 'ipv6'], run: followsOnlyItsPath },
];

type Path = Required<Pick<Packet, 'source' | 'destination'>>;

async function followsOnlyItsPath(t: Tester): Promise<void> {
  const moved = t.premise('the device migrates for a packet on the alternate path');
  const peer = await t.connect({ version: 4, alternate: 6 });
  const primary = pathOf(t, 4);
  const alternate = pathOf(t, 6);
  // MigReq 0 on the primary path: both ends are armed.
  peer.tx(probe(peer, 0, primary, 0));
  await answered(peer, 0, primary, 'before anything has moved');
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

async function answered(peer: TesterPeer, psn: number, path: Path, when: string): Promise<void> {
  const { sighting } = await peer.rx(readOnly({ psn, msn: psn + 1, payload: new Uint8Array(0) }));
  const { source, destination } = sighting.ip;
  demand(
    `${destination}` === path.source && `${source}` === path.destination,
    `${when}: the answer went from ${source} to ${destination}, for ${path.destination} to ${path.source}`,
  );
  demand(sighting.opcode === Op.ReadResponseOnly, 'the answer is no READ response');
}
