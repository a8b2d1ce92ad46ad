/**
 * A scripted peer for the connection manager.
 *
 * Goal: tests read as a sequence of messages. Method: `receive` hands the manager a message as if the peer had sent it;
 * `sent` takes everything it wants to send, so that comparing with a list also says "and nothing else".
 */
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { expect } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import {
  type CmKind,
  type CmMessage,
  type CmReq,
  LID_PERMISSIVE,
  NO_PATH,
  parseCmMad,
  RdmaPortSpace,
  rdmaServiceId,
  writeCmMad,
  writeIpCmHeader,
} from '../../../packets/cm/index.ts';
import { MAD_BYTES } from '../../../packets/mad.ts';
import {
  type AcceptParameters,
  type CmEvent,
  type CmInputStatus,
  type CmOptions,
  ConnectionManager,
  type ConnectParameters,
  cmInputStatusName,
  codeToNs,
  type MadOrigin,
} from '../../../transport/cm/index.ts';
import type { Random } from '../../../transport/random.ts';

export const US = IpAddress.parse('10.77.0.1');
export const PEER = IpAddress.parse('10.77.0.2');
export const STRANGER = IpAddress.parse('10.77.0.66');
export const OUR_GUID = 0x0000_0000_0000_0a01n;
export const PEER_GUID = 0x0000_0000_0000_0b02n;
export const SERVICE = rdmaServiceId(RdmaPortSpace.Tcp, 7174);

/** The peer's ids. */
export const PEER_ID = 0x1111_1111;
export const PEER_QPN = 0x22;
export const OUR_QPN = 0x33;
export const PEER_TID = 0x77_0000_0001n;

/** The response timeout of most tests: code 14, 67.1 ms. */
export const T = codeToNs(14);
export const NONE = new Uint8Array(0);

export function seededRandom(seed: number): Random {
  const generator = xoroshiro128plus(seed);
  return { u32: () => generator.next() >>> 0 };
}

/** A REQ as a Linux peer sends it, with changes. */
export function reqBody(changes: Partial<CmReq> = {}): CmReq {
  const privateData = new Uint8Array(92);
  writeIpCmHeader(new DataView(privateData.buffer), 0, { sourcePort: 4242, source: PEER, destination: US });
  return {
    localCommId: PEER_ID,
    vendorId: 0,
    serviceId: SERVICE,
    localCaGuid: PEER_GUID,
    localQkey: 0,
    localQpn: PEER_QPN,
    responderResources: 2,
    localEecn: 0,
    initiatorDepth: 4,
    remoteEecn: 0,
    remoteCmResponseTimeout: 14,
    transportServiceType: 0,
    endToEndFlowControl: 0,
    startingPsn: 0xab_cd_ef,
    localCmResponseTimeout: 14,
    retryCount: 7,
    partitionKey: 0xff_ff,
    pathMtu: 3,
    rdcExists: 0,
    rnrRetryCount: 7,
    maxCmRetries: 3,
    srq: 0,
    extendedTransportType: 0,
    primaryPath: {
      ...NO_PATH,
      localLid: LID_PERMISSIVE,
      remoteLid: LID_PERMISSIVE,
      localGid: PEER,
      remoteGid: US,
      hopLimit: 64,
      localAckTimeout: 17,
    },
    alternatePath: NO_PATH,
    sapSupported: 0,
    privateData,
    ...changes,
  };
}

export const ACCEPT: AcceptParameters = {
  qpn: OUR_QPN,
  startingPsn: 0x12_34_56,
  initiatorDepth: 16,
  responderResources: 16,
  rnrRetryCount: 7,
};

export const CONNECT: ConnectParameters = {
  serviceId: SERVICE,
  local: US,
  remote: PEER,
  localPort: 4242,
  qpn: OUR_QPN,
  startingPsn: 0x12_34_56,
  mtu: 3,
  initiatorDepth: 4,
  responderResources: 2,
  retryCount: 7,
  rnrRetryCount: 7,
  ackTimeout: 17,
  cmResponseTimeout: 14,
  maxCmRetries: 3,
};

export interface Sent {
  readonly message: CmMessage;
  readonly transactionId: bigint;
  readonly destination: IpAddress;
  readonly bytes: Uint8Array;
}

type BodyOf<K extends CmKind> = Extract<CmMessage, { readonly kind: K }>['body'];

export class Script {
  readonly cm: ConnectionManager;
  now = 1_000_000;

  constructor(options: Partial<CmOptions> = {}) {
    this.cm = new ConnectionManager({ random: seededRandom(7), caGuid: OUR_GUID, ...options });
  }

  /** Hands over a message; the status by name. */
  receive(message: CmMessage, transactionId = PEER_TID, origin: Partial<MadOrigin> = {}): string {
    const bytes = new Uint8Array(MAD_BYTES);
    writeCmMad(new DataView(bytes.buffer), 0, transactionId, message);
    return cmInputStatusName(this.receiveBytes(bytes, origin));
  }

  receiveBytes(bytes: Uint8Array, origin: Partial<MadOrigin> = {}): CmInputStatus {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const from = { source: PEER, destination: US, sourceQpn: 1, ...origin };
    return this.cm.handleMad(this.now, view, 0, bytes.length, from);
  }

  /** Everything that goes out now. */
  sent(): Sent[] {
    const sent: Sent[] = [];
    for (let mad = this.cm.pollTransmit(this.now); mad !== undefined; mad = this.cm.pollTransmit(this.now)) {
      const parsed = parseCmMad(new DataView(mad.bytes.buffer), 0, mad.bytes.length);
      if (typeof parsed === 'number') throw new Error(`the manager sent a MAD with status ${parsed}`);
      expect(mad.remoteQpn).toBe(1);
      sent.push({
        message: parsed.message,
        transactionId: parsed.header.transactionId,
        destination: mad.destination,
        bytes: mad.bytes,
      });
    }
    return sent;
  }

  /** What goes out now, as text: "REJ 8" with its reason, else the kind. */
  sentKinds(): string[] {
    return this.sent().map(({ message }) => (message.kind === 'REJ' ? `REJ ${message.body.reason}` : message.kind));
  }

  /** The one message that goes out now, of this kind. */
  sentOne<K extends CmKind>(kind: K): Sent & { readonly body: BodyOf<K> } {
    const sent = this.sent();
    expect(sent.map(({ message }) => message.kind)).toEqual([kind]);
    const [one] = sent;
    if (one === undefined) throw new Error('nothing was sent');
    return { ...one, body: one.message.body as BodyOf<K> };
  }

  events(): CmEvent[] {
    const events: CmEvent[] = [];
    for (let event = this.cm.pollEvent(); event !== undefined; event = this.cm.pollEvent()) events.push(event);
    return events;
  }

  eventTypes(): string[] {
    return this.events().map((event) => event.type);
  }

  /** The one event there is now, of this type. */
  event<T extends CmEvent['type']>(type: T): Extract<CmEvent, { type: T }> {
    const events = this.events();
    expect(events.map((event) => event.type)).toEqual([type]);
    return events[0] as Extract<CmEvent, { type: T }>;
  }

  /** Lets time go by, stopping at every deadline on the way. */
  advance(ns: number): void {
    const end = this.now + ns;
    for (let steps = 0; this.cm.pollTimeout() <= end; steps++) {
      if (steps > 10_000) throw new Error('deadlines do not come to an end');
      this.now = Math.max(this.now, this.cm.pollTimeout());
      this.cm.handleTimeout(this.now);
    }
    this.now = end;
  }

  /** Passive side: a request has come in and been reported. */
  requested(changes: Partial<CmReq> = {}): number {
    this.cm.listen(SERVICE, 8);
    expect(this.receive({ kind: 'REQ', body: reqBody(changes) })).toBe('Ok');
    return this.event('connect-request').id;
  }

  /** Passive side: REP is out. */
  accepted(): number {
    const id = this.requested();
    this.cm.accept(this.now, id, ACCEPT);
    this.sentOne('REP');
    return id;
  }

  /** Passive side: established by RTU. */
  established(): number {
    const id = this.accepted();
    expect(this.receive(this.rtu(id))).toBe('Ok');
    this.event('established');
    return id;
  }

  /** Active side: REQ is out. */
  connecting(changes: Partial<ConnectParameters> = {}): number {
    const id = this.cm.connect(this.now, { ...CONNECT, ...changes });
    this.sentOne('REQ');
    return id;
  }

  /** Active side: established by our RTU. */
  connected(): number {
    const id = this.connecting();
    expect(this.receive(this.rep(id))).toBe('Ok');
    this.event('connect-response');
    this.cm.ready(this.now, id);
    this.sentOne('RTU');
    this.event('established');
    return id;
  }

  rtu(id: number): CmMessage {
    return { kind: 'RTU', body: { localCommId: PEER_ID, remoteCommId: id, privateData: NONE } };
  }

  rep(id: number, changes: object = {}): CmMessage {
    return {
      kind: 'REP',
      body: {
        localCommId: PEER_ID,
        remoteCommId: id,
        localQkey: 0,
        localQpn: PEER_QPN,
        localEecn: 0,
        startingPsn: 0x65_43_21,
        vendorId: 0,
        responderResources: 3,
        initiatorDepth: 1,
        targetAckDelay: 15,
        failoverAccepted: 0,
        endToEndFlowControl: 0,
        rnrRetryCount: 7,
        srq: 0,
        localCaGuid: PEER_GUID,
        privateData: Uint8Array.of(1, 2, 3),
        ...changes,
      },
    };
  }

  dreq(id: number, changes: object = {}): CmMessage {
    return {
      kind: 'DREQ',
      body: { localCommId: PEER_ID, remoteCommId: id, remoteQpn: OUR_QPN, privateData: NONE, ...changes },
    };
  }

  drep(id: number, changes: object = {}): CmMessage {
    return { kind: 'DREP', body: { localCommId: PEER_ID, remoteCommId: id, privateData: NONE, ...changes } };
  }

  rej(id: number, changes: object = {}): CmMessage {
    return {
      kind: 'REJ',
      body: {
        localCommId: PEER_ID,
        remoteCommId: id,
        messageRejected: 2,
        infoLength: 0,
        reason: 28,
        info: NONE,
        privateData: NONE,
        ...changes,
      },
    };
  }

  mra(id: number, changes: object = {}): CmMessage {
    return {
      kind: 'MRA',
      body: {
        localCommId: PEER_ID,
        remoteCommId: id,
        messageMraed: 0,
        serviceTimeout: 16,
        privateData: NONE,
        ...changes,
      },
    };
  }
}
