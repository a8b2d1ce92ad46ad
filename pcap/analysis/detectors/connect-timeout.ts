/**
 * Symptom: a connection request without an answer, or a REP without an RTU.
 *
 * Owns the finding, one for each client, server and service. A request counts as unanswered when it was sent three
 * times or more, or when its sender gave up (REJ for a timeout). Fewer are no proof: one message may be lost and
 * another still be on its way when the capture ends. A REP counts as unconfirmed when it was sent three times. Neither
 * counts when the connection came up: then the capture lacks packets.
 * Rules: ref:analyzer#1 row 17, ref:wire#10, rdma:cm.c#cm_process_send_error.
 */
import { CmRejReason } from '../../../packets/cm/index.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import { PacketKind } from '../packet-kind.ts';
import { type CmSighting, cmSighting, remember, serviceName } from './cm-reading.ts';
import { FrameList } from './frame-list.ts';
import { counted, duration, times } from './words.ts';

export const CONNECT_TIMEOUT: Symptom = {
  id: 'connect-timeout',
  row: 17,
  title: 'Connection request without an answer',
  complaint: 'rdma_connect fails with RDMA_CM_EVENT_UNREACHABLE or times out, often only from the Nth connection on.',
  about:
    'A REQ is retransmitted until a REP, a REJ or an MRA comes. There is no response when the other host is down, when a firewall drops UDP port ' +
    '4791, or when the listener has a full backlog: a connection manager that cannot queue one more request drops it silently. A retransmitted REP ' +
    'means that the client does not receive it, or has given up.',
  advice: [
    'Check that the server runs, that it accepts connections as fast as they come, and that its backlog (rdma_listen) is large enough.',
    'Check that UDP port 4791 passes in both directions: the answer comes to port 4791 as well.',
  ],
  commands: ['rdma resource show cm_id', 'ping -c 3 PEER', 'nft list ruleset | grep 4791', 'dmesg | grep -i rdma'],
  make: () => new ConnectTimeout(),
};

/** One request as one interface sees it. */
interface ConnectAttempt {
  readonly client: string;
  readonly server: string;
  readonly service: string;
  readonly localQpn: number;
  readonly firstNs: number;
  lastNs: number;
  readonly requests: FrameList;
  readonly replies: FrameList;
  /** Queue pair that the answer names. */
  serverQpn: number;
  /** REP, REJ of the server. */
  answered: boolean;
  /** The server requested more time (MRA). */
  postponed: boolean;
  confirmed: boolean;
  gaveUp: boolean;
}

class ConnectTimeout implements Detector {
  readonly interest = PacketKind.Other | PacketKind.Management;
  readonly #attempts = new Map<string, ConnectAttempt>();
  /** Addresses that sent any message of connection management. */
  readonly #speakers = new Set<string>();

  packet(facts: PacketFacts): void {
    const sighting = cmSighting(facts);
    if (sighting === undefined) return;
    const { message, source, destination, frame } = sighting;
    if (this.#speakers.size < MOST_ATTEMPTS) this.#speakers.add(source);
    switch (message.kind) {
      case 'REQ':
        this.#requested(sighting, 'req', message.body.localCommId, message.body.serviceId, message.body.localQpn);
        break;
      case 'SIDR_REQ':
        this.#requested(sighting, 'sidr', message.body.requestId, message.body.serviceId, -1);
        break;
      case 'REP': {
        const attempt = this.#toClient(sighting, 'req', message.body.remoteCommId);
        if (attempt === undefined) break;
        attempt.answered = true;
        attempt.serverQpn = message.body.localQpn;
        attempt.lastNs = sighting.timeNs;
        attempt.replies.add(frame);
        break;
      }
      case 'SIDR_REP':
        markAnswered(this.#toClient(sighting, 'sidr', message.body.requestId));
        break;
      case 'MRA': {
        const attempt = this.#toClient(sighting, 'req', message.body.remoteCommId);
        if (attempt !== undefined) attempt.postponed = true;
        break;
      }
      case 'REJ':
        markAnswered(this.#toClient(sighting, 'req', message.body.remoteCommId));
        this.#clientRejects(sighting, message.body.localCommId, message.body.reason);
        break;
      case 'RTU': {
        const attempt = this.#attempts.get(keyOf(sighting, 'req', source, destination, message.body.localCommId));
        if (attempt !== undefined) attempt.confirmed = true;
        break;
      }
    }
  }

  finish(context: DetectorContext): void {
    const silent = new Map<string, ConnectAttempt[]>();
    const unconfirmed = new Map<string, ConnectAttempt[]>();
    const answered = new Map<string, number>();
    for (const attempt of this.#attempts.values()) {
      const key = `${attempt.client} ${attempt.server} ${attempt.service}`;
      if (attempt.answered) answered.set(key, (answered.get(key) ?? 0) + 1);
      const unheard = attempt.replies.count >= ENOUGH;
      if ((!unheard && !isSilent(attempt)) || cameUp(context, attempt)) continue;
      const group = unheard ? unconfirmed : silent;
      group.set(key, [...(group.get(key) ?? []), attempt]);
    }
    for (const [key, attempts] of silent)
      reportSilence(context, seenOnce(attempts), answered.get(key) ?? 0, this.#speakers);
    for (const attempts of unconfirmed.values()) reportUnconfirmed(context, seenOnce(attempts));
  }

  #requested(sighting: CmSighting, kind: string, id: number, serviceId: bigint, localQpn: number): void {
    const { source, destination, timeNs, frame } = sighting;
    const key = keyOf(sighting, kind, source, destination, id);
    const known = this.#attempts.get(key);
    // An id whose time is over may be used again.
    const attempt = known === undefined || known.gaveUp || known.confirmed ? undefined : known;
    if (attempt !== undefined) {
      attempt.lastNs = timeNs;
      attempt.requests.add(frame);
      return;
    }
    const made: ConnectAttempt = {
      client: source,
      server: destination,
      service: serviceName(serviceId),
      localQpn,
      firstNs: timeNs,
      lastNs: timeNs,
      requests: new FrameList(),
      replies: new FrameList(),
      serverQpn: -1,
      answered: false,
      postponed: false,
      confirmed: false,
      gaveUp: false,
    };
    made.requests.add(frame);
    // What is replaced keeps its place under another key: it is still to be judged.
    if (known !== undefined) remember(this.#attempts, `${key} until ${frame}`, known, MOST_ATTEMPTS);
    remember(this.#attempts, key, made, MOST_ATTEMPTS);
  }

  /** The attempt that a message of the server answers. */
  #toClient(sighting: CmSighting, kind: string, id: number): ConnectAttempt | undefined {
    return this.#attempts.get(keyOf(sighting, kind, sighting.destination, sighting.source, id));
  }

  #clientRejects(sighting: CmSighting, localCommId: number, reason: number): void {
    const attempt = this.#attempts.get(keyOf(sighting, 'req', sighting.source, sighting.destination, localCommId));
    if (attempt === undefined) return;
    if (reason === CmRejReason.Timeout) {
      attempt.gaveUp = true;
      attempt.lastNs = sighting.timeNs;
    } else attempt.confirmed = true;
  }
}

function markAnswered(attempt: ConnectAttempt | undefined): void {
  if (attempt !== undefined) attempt.answered = true;
}

function isSilent({ answered, postponed, requests, gaveUp }: ConnectAttempt): boolean {
  if (answered) return false;
  return postponed ? gaveUp : requests.count >= ENOUGH || gaveUp;
}

/** The connection works, so that what is missing is missing in the capture only. */
function cameUp(
  { conversations }: DetectorContext,
  { client, server, localQpn, serverQpn, confirmed }: ConnectAttempt,
): boolean {
  if (confirmed) return true;
  return conversations.some(({ service, ends: [a, b] }) => {
    if (service === 'UD' || a.packets + b.packets === 0) return false;
    return [[a, b] as const, [b, a] as const].some(
      ([end, other]) =>
        end.address === client &&
        other.address === server &&
        end.packets > 0 &&
        ((localQpn >= 0 && end.qpn === localQpn) || (serverQpn >= 0 && other.qpn === serverQpn)),
    );
  });
}

/** Several interfaces captured the same requests: the one with most of them counts. */
function seenOnce(attempts: readonly ConnectAttempt[]): ConnectAttempt[] {
  const best = new Map<string, ConnectAttempt>();
  for (const attempt of attempts) {
    const key = `${attempt.localQpn}`;
    const known = best.get(key);
    if (
      known === undefined ||
      attempt.requests.count + attempt.replies.count > known.requests.count + known.replies.count
    )
      best.set(key, attempt);
  }
  return [...best.values()];
}

function reportSilence(
  context: DetectorContext,
  attempts: readonly ConnectAttempt[],
  answered: number,
  speakers: ReadonlySet<string>,
): void {
  const [first] = attempts;
  if (first === undefined) return;
  const { client, server, service, postponed } = first;
  const frames = new FrameList();
  for (const { requests } of attempts) frames.addAll(requests);
  const tookNs = Math.max(...attempts.map(({ firstNs, lastNs }) => lastNs - firstNs));
  const many = attempts.length > 1 ? ` for ${counted(attempts.length, 'connection')}` : '';
  const end = attempts.some(({ gaveUp }) => gaveUp) ? ', then gave up' : '';
  const alive =
    speakers.has(server) ||
    context.conversations.some(({ ends }) => ends.some(({ address, packets }) => address === server && packets > 0));
  const hint = postponed
    ? `${server} had requested more time (MRA)`
    : answered > 0
      ? `${counted(answered, 'other request')} to ${service} ${answered === 1 ? 'was' : 'were'} answered, so its backlog is full or it is busy`
      : alive
        ? `${server} does send other packets`
        : `nothing at all comes from ${server}`;
  context.report({
    severity: 'error',
    text: `${client} sent ${server} a REQ ${times(frames.count)}${many} within ${duration(tookNs)} for ${service} and got no response${end}; ${hint}.`,
    frames: [...frames.frames].sort((a, b) => a - b),
    frameCount: frames.count,
    evidence: {
      client,
      server,
      service,
      requests: frames.count,
      connections: attempts.length,
      answeredOthers: answered,
      tookNs,
      serverSeen: alive ? 'yes' : 'no',
    },
  });
}

function reportUnconfirmed(context: DetectorContext, attempts: readonly ConnectAttempt[]): void {
  const [first] = attempts;
  if (first === undefined) return;
  const { client, server, service } = first;
  const frames = new FrameList();
  for (const { replies } of attempts) frames.addAll(replies);
  const tookNs = Math.max(...attempts.map(({ firstNs, lastNs }) => lastNs - firstNs));
  context.report({
    severity: 'error',
    text: `${server} answered the request of ${client} for ${service} ${times(frames.count)} within ${duration(tookNs)}, but no RTU confirmed it: the REP does not reach ${client}, or came too late.`,
    frames: [...frames.frames].sort((a, b) => a - b),
    frameCount: frames.count,
    evidence: { client, server, service, replies: frames.count, connections: attempts.length, tookNs },
    advice: [
      `Check the path from ${server} to ${client}: route, firewall for UDP port 4791, and which GID the server answers from.`,
      'Check whether the client had given up already: its CM response timeout may be too short.',
    ],
  });
}

function keyOf({ interfaceIndex }: CmSighting, kind: string, client: string, server: string, id: number): string {
  return `${interfaceIndex} ${kind} ${client} ${server} ${id}`;
}

/** Sightings of the same message that cannot be an accident. */
const ENOUGH = 3;
const MOST_ATTEMPTS = 4096;
