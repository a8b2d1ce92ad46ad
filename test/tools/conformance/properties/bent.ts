/**
 * A subject that is well, seen through a bent glass: what it is sent or what it sends is changed, as if it had a bug.
 */

import type { Packet } from '../../../../packets/kit/packet.ts';
import type { HostCompletion } from '../../../../tools/conformance/host-control/host-control.ts';
import type {
  LocalRequest,
  Subject,
  SubjectConnection,
  SubjectConnectionOptions,
} from '../../../../tools/conformance/properties/subject.ts';

/**
 * Changes what goes to the device, or what comes from it; nothing: the packet is lost. State lives as long as a
 * connection.
 */
export interface Bend {
  readonly tx?: (packet: Packet) => readonly Packet[];
  readonly rx?: (packet: Packet) => readonly Packet[];
  readonly post?: (request: LocalRequest) => LocalRequest;
  readonly completions?: (completions: readonly HostCompletion[]) => readonly HostCompletion[];
}

export function bent(subject: Subject, bend: () => Bend, options: Partial<SubjectConnectionOptions> = {}): Subject {
  return {
    ...subject,
    name: 'bent',
    fresh: async (asked) => bentConnection(await subject.fresh({ ...asked, ...options }), bend()),
  };
}

function bentConnection(connection: SubjectConnection, { tx, rx, post, completions }: Bend): SubjectConnection {
  const waiting: Packet[] = [];
  return {
    region: connection.region,
    send: (packets) => connection.send(tx === undefined ? packets : packets.flatMap(tx)),
    async next(withinNs) {
      for (;;) {
        const kept = waiting.shift();
        if (kept !== undefined) return kept;
        const packet = await connection.next(withinNs);
        if (packet === undefined) return undefined;
        waiting.push(...(rx === undefined ? [packet] : rx(packet)));
      }
    },
    now: () => connection.now(),
    sleep: (durationNs) => connection.sleep(durationNs),
    postReceives: (count) => connection.postReceives(count),
    delivered: (expected) => connection.delivered(expected),
    memory: () => connection.memory(),
    post: (request) => connection.post(post === undefined ? request : post(request)),
    async completions() {
      const found = await connection.completions();
      return completions === undefined ? found : completions(found);
    },
    local: () => connection.local(),
    setLocal: (offset, bytes) => connection.setLocal(offset, bytes),
    failed: () => connection.failed(),
    close: () => connection.close(),
  };
}
