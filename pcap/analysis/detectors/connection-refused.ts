/**
 * Symptom: a connection is refused, with the reason.
 *
 * Owns the finding, one for each refusing host, reason and service. It is an error. It is a note where the application
 * refused (consumer defined, the reason that rdma_reject sends), or where the same client got its connection to the
 * same service later. A REJ for a timeout belongs to `connect-timeout`. Negative answers to SIDR requests count as
 * well.
 * Rules: ref:analyzer#1 row 16, ref:wire#10, rdma:cm.c.
 */
import {
  CmMessageRef,
  type CmRej,
  CmRejReason,
  type CmReq,
  CmSidrStatus,
  cmRejReasonName,
  cmSidrStatusName,
} from '../../../packets/cm/index.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import { PacketKind } from '../packet-kind.ts';
import { type CmSighting, cmSighting, remember, serviceName } from './cm-reading.ts';
import { FrameList, mergedFrames } from './frame-list.ts';
import { rejectReason } from './reject-reasons.ts';
import { times } from './words.ts';

export const CONNECTION_REFUSED: Symptom = {
  id: 'connection-refused',
  row: 16,
  title: 'Connection refused',
  complaint: 'rdma_connect fails with RDMA_CM_EVENT_REJECTED; the queue pair never gets to RTR.',
  about:
    'A connection begins with a REQ, to which the peer responds with a REP, or with a REJ and a reason. Reason 8, an invalid service id, means that no process ' +
    'listens on that port. Reason 28 is the answer of an application that called rdma_reject. Others name what of the path or of the queue pair the ' +
    'peer does not accept.',
  advice: ['Look at the reason: it names what to change.'],
  commands: ['rdma resource show cm_id', 'rdma resource show qp', 'show_gids'],
  make: () => new ConnectionRefused(),
};

/** A request of which a refusal may come. */
interface RejectableRequest {
  readonly client: string;
  readonly server: string;
  readonly service: string;
  readonly pathMtu: number;
  readonly frame: number;
  refused: boolean;
}

/** Refusals of one kind. */
interface CmRefusal {
  readonly refuser: string;
  readonly clients: Set<string>;
  readonly service: string;
  readonly what: 'REQ' | 'REP' | 'question';
  readonly reason: number;
  readonly reasonName: string;
  readonly meaning: string;
  readonly advice: readonly string[];
  readonly note: boolean;
  readonly frames: FrameList;
  count: number;
  readonly privateData: string;
}

class ConnectionRefused implements Detector {
  readonly interest = PacketKind.Other | PacketKind.Management;
  readonly #attempts = new Map<string, RejectableRequest>();
  readonly #refusals = new Map<string, CmRefusal>();
  /** Client, server and service of connections that came up, by the number of the frame that shows it. */
  readonly #connected = new Map<string, number>();

  packet(facts: PacketFacts): void {
    const sighting = cmSighting(facts);
    if (sighting === undefined) return;
    const { message, source, destination } = sighting;
    switch (message.kind) {
      case 'REQ':
        this.#request(sighting, message.body);
        break;
      case 'SIDR_REQ':
        this.#attempt(sighting, `sidr ${source} ${destination} ${message.body.requestId}`, message.body.serviceId, 0);
        break;
      case 'REJ':
        this.#rejected(sighting, message.body);
        break;
      case 'RTU':
        this.#cameUp(this.#attempts.get(`${source} ${destination} ${message.body.localCommId}`), sighting.frame);
        break;
      case 'SIDR_REP':
        this.#resolved(sighting, message.body.requestId, message.body.status);
        break;
    }
  }

  finish(context: DetectorContext): void {
    for (const refusal of this.#refusals.values()) {
      const last = refusal.frames.frames.at(-1) ?? 0;
      const later = [...refusal.clients].every(
        (client) => (this.#connected.get(`${client} ${refusal.refuser} ${refusal.service}`) ?? 0) > last,
      );
      report(context, refusal, later);
    }
  }

  #request(sighting: CmSighting, { localCommId, serviceId, pathMtu }: CmReq): void {
    this.#attempt(sighting, `${sighting.source} ${sighting.destination} ${localCommId}`, serviceId, 128 << pathMtu);
  }

  #attempt({ source, destination, frame }: CmSighting, key: string, serviceId: bigint, pathMtu: number): void {
    if (this.#attempts.get(key)?.refused === false) return;
    const service = serviceName(serviceId);
    remember(
      this.#attempts,
      key,
      { client: source, server: destination, service, pathMtu, frame, refused: false },
      MOST_ATTEMPTS,
    );
  }

  #rejected(sighting: CmSighting, rej: CmRej): void {
    const { reason, messageRejected, localCommId, remoteCommId, privateData } = rej;
    if (reason === CmRejReason.Timeout) return;
    const { source, destination } = sighting;
    const byServer = this.#attempts.get(`${destination} ${source} ${remoteCommId}`);
    const attempt = byServer ?? this.#attempts.get(`${source} ${destination} ${localCommId}`);
    if (attempt?.refused === true) return;
    if (attempt !== undefined) attempt.refused = true;
    const known = rejectReason(reason);
    this.#refuse(sighting, attempt, {
      what: messageRejected === CmMessageRef.Rep ? 'REP' : 'REQ',
      reason,
      reasonName: cmRejReasonName(reason),
      meaning: known?.meaning ?? 'for a reason that is not known here',
      advice: known === undefined ? [] : [known.advice],
      note: NOTES.includes(reason),
      privateData: printable(privateData),
    });
  }

  #resolved(sighting: CmSighting, requestId: number, status: number): void {
    const attempt = this.#attempts.get(`sidr ${sighting.destination} ${sighting.source} ${requestId}`);
    if (status === CmSidrStatus.Success) {
      this.#cameUp(attempt, sighting.frame);
      return;
    }
    if (attempt?.refused === true) return;
    if (attempt !== undefined) attempt.refused = true;
    const unsupported = status === CmSidrStatus.Unsupported;
    this.#refuse(sighting, attempt, {
      what: 'question',
      reason: status,
      reasonName: cmSidrStatusName(status),
      meaning: SIDR_MEANINGS.get(status) ?? 'for a reason that is not known here',
      advice: unsupported ? (rejectReason(CmRejReason.InvalidServiceId)?.advice ?? '').split('\n') : [],
      note: status === CmSidrStatus.Reject || status === CmSidrStatus.Redirect,
      privateData: '',
    });
  }

  #refuse(
    { source, destination, frame }: CmSighting,
    attempt: RejectableRequest | undefined,
    how: Omit<CmRefusal, 'refuser' | 'clients' | 'service' | 'frames' | 'count'>,
  ): void {
    const service = attempt?.service ?? 'a service whose request is not in the capture';
    const key = `${source} ${how.what} ${how.reason} ${service}`;
    const refusal = this.#refusals.get(key) ?? {
      ...how,
      refuser: source,
      clients: new Set<string>(),
      service,
      frames: new FrameList(),
      count: 0,
    };
    if (attempt !== undefined) refusal.frames.add(attempt.frame);
    refusal.frames.add(frame);
    refusal.clients.add(destination);
    refusal.count++;
    if (this.#refusals.has(key) || this.#refusals.size < MOST_REFUSALS) this.#refusals.set(key, refusal);
  }

  #cameUp(attempt: RejectableRequest | undefined, frame: number): void {
    if (attempt === undefined) return;
    remember(this.#connected, `${attempt.client} ${attempt.server} ${attempt.service}`, frame, MOST_ATTEMPTS);
  }
}

function report(context: DetectorContext, refusal: CmRefusal, later: boolean): void {
  const { refuser, clients, service, what, reason, reasonName, meaning, advice, note, frames, count, privateData } =
    refusal;
  const [client = ''] = clients;
  const who = clients.size === 1 ? client : `${clients.size} hosts`;
  const subject =
    what === 'REP' ? `the answer of ${who} on its way to ${service}` : `a connection of ${who} to ${service}`;
  const asked = what === 'question' ? `a question of ${who} for ${service}` : subject;
  const said = privateData === '' ? '' : ` and its private data begins with "${privateData}"`;
  const outcome = later ? '; a later attempt succeeded' : '';
  context.report({
    severity: note || later ? 'note' : 'error',
    text: `${refuser} refused ${asked} ${times(count)}: ${meaning} (reason ${reason}${reasonName.includes(' ') ? '' : `, ${reasonName}`})${said}${outcome}.`,
    frames: mergedFrames([frames.frames]),
    frameCount: frames.count,
    evidence: {
      refuser,
      service,
      reason,
      reasonName,
      message: what,
      refusals: count,
      succeededLater: later ? 'yes' : 'no',
    },
    ...(advice.length === 0 ? {} : { advice }),
  });
}

/** Text at the beginning of private data, where there is some; applications often say why. */
function printable(privateData: Uint8Array): string {
  let text = '';
  for (const byte of privateData.subarray(0, MOST_TEXT)) {
    if (byte < 0x20 || byte > 0x7e || byte === 0x22) break;
    text += String.fromCharCode(byte);
  }
  return text.length >= LEAST_TEXT ? text : '';
}

/** Refusals that are answers of an application, or directions. */
const NOTES: readonly number[] = [CmRejReason.ConsumerDefined, CmRejReason.PortRedirect, CmRejReason.PortCmRedirect];
/** What answers to questions for a datagram service mean. */
const SIDR_MEANINGS: ReadonlyMap<number, string> = new Map([
  [CmSidrStatus.Unsupported, 'no process listens there'],
  [CmSidrStatus.Reject, 'the application refused'],
  [CmSidrStatus.NoQp, 'it has no queue pair left'],
  [CmSidrStatus.Redirect, 'the service is at another address'],
  [CmSidrStatus.UnsupportedVersion, 'it uses another version of connection management'],
]);
const MOST_ATTEMPTS = 4096;
const MOST_REFUSALS = 64;
const MOST_TEXT = 40;
const LEAST_TEXT = 4;
