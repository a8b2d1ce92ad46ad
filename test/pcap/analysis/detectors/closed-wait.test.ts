/**
 * Goal: a requester that waited for an answer and never got one is not told to have been answered.
 * Method: SENDs line by line, the last of which is sent again; the scene in which B goes on after A has disconnected,
 * and its beginning with requests of A behind that are the next of the connection.
 */
import { describe, expect, it } from 'vitest';
import { seal } from '../../../../packets/kit/index.ts';
import { Op } from '../../../../packets/opcode.ts';
import { Script } from '../tracker/script.ts';
import { analyze, findingOf, packetsOf, sceneNamed } from './support.ts';

const [IP_AT, UDP_AT, BTH_AT] = [14, 34, 42];

/** The next SEND of who sent this one. */
function nextOf(frame: Uint8Array): Uint8Array {
  const bytes = frame.slice();
  const view = new DataView(bytes.buffer);
  view.setUint32(BTH_AT + 8, view.getUint32(BTH_AT + 8) + 1);
  seal({ bytes, view, ip: IP_AT, udp: UDP_AT, bth: BTH_AT, icrc: bytes.length - 4 });
  return bytes;
}

describe('timeouts', () => {
  it('that an answer ended are told so', () => {
    const script = new Script();
    for (let psn = 0; psn < 20; psn++) script.a(Op.SendOnly, psn).ack(psn);
    for (let i = 0; i < 3; i++) script.a(Op.SendOnly, 20).wait(100e6);
    const { text } = findingOf(script.ack(20).analyze(), 'retry-exceeded');
    expect(text).toMatch(/ms, and was answered when it had sent again\.$/);
  });

  it('of a connection that had been closed are told so', async () => {
    const packets = packetsOf(await sceneNamed('no-reply-after-disconnect').make());
    const sends = packets.filter(({ bytes }) => bytes[BTH_AT] === Op.SendOnly);
    const [first] = sends;
    if (first === undefined) throw new Error('A sends something');
    const bytes = nextOf(first.bytes);
    const again = packets.map((each) => (each !== first && sends.includes(each) ? { ...each, bytes } : each));
    const { text, severity } = findingOf(analyze(again), 'retry-exceeded');
    expect(text).toMatch(/ms, and got none at last: the connection was closed in packet \d+\.$/);
    expect(severity).toBe('note');
  });

  it('of queue pairs that had been closed before have no answer', async () => {
    const { text } = findingOf(analyze(await sceneNamed('no-reply-after-disconnect').make()), 'retry-exceeded');
    expect(text).toMatch(/ms, and the last request has no answer here\.$/);
  });
});
