/**
 * Goal: a channel that its client has closed is gone from the server, whatever becomes of the file. Method: bytes on the
 * socket by hand.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EventChannel } from '../../../src/node/uverbs/channel.ts';
import { serveUverbs } from '../../../src/node/uverbs/serve.ts';
import { FrameType } from '../../../src/node/uverbs/wire.ts';
import { itWith } from '../../support/need.ts';
import { FakeServer, NO_QUEUE } from './fake-server.ts';
import { Peer, words } from './peer.ts';

const CREATE_COMP_CHANNEL = 17;

itWith('koffi', 'a channel that is closed is told to the file, and a connection for commands is none', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'roce-channels-'));
  const server = new FakeServer();
  const served = await serveUverbs({ server, path: join(directory, 'socket') });
  const client = await Peer.connect(served.path);
  await client.open();
  const [kept = 0] = await client.command(CREATE_COMP_CHANNEL);
  const [gone = 0] = await client.command(CREATE_COMP_CHANNEL);
  const peers = await Promise.all([Peer.connect(served.path), Peer.connect(served.path), Peer.connect(served.path)]);
  const [first, second, third] = peers;
  await first.ask(FrameType.Channel, Buffer.concat([client.token, words(kept)]));
  await second.ask(FrameType.Channel, Buffer.concat([client.token, words(gone)]));
  await third.ask(FrameType.Join, client.token);
  server.opened[0]?.event(gone, Uint8Array.of(1), NO_QUEUE);
  third.end(new Uint8Array(0));
  second.end(new Uint8Array(0));
  await Promise.all([second.closed, third.closed]);
  // One round trip more: by then the server has seen both ends. Nothing comes before the answer: the event that was
  // not read is of no more interest.
  expect(await client.command(CREATE_COMP_CHANNEL)).toEqual([gone + 1]);
  expect(server.channelsClosed).toEqual([gone]);
  served.close();
  rmSync(directory, { recursive: true });
});

it('a channel takes back what is about one object, and not read; the others stay', () => {
  const channel = new EventChannel(1);
  const [one, two] = [{}, {}];
  for (const about of [one, two, one, two]) expect(channel.event(Uint8Array.of(1), about)).toBe(true);
  channel.read(2);
  expect(channel.cancel(one)).toEqual([0]);
  expect([channel.cancel(one), channel.cancel(two), channel.cancel(two)]).toEqual([[], [1, 3], []]);
});
