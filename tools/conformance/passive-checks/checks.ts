/**
 * Passive rules: what holds for every packet that a device sends, whatever it was sent for. Each is a question to one
 * packet. Owns the rules; index.ts runs them and takes the results.
 */
import { OPCODE_FLAGS, Op, OpFlag, SERVICE_MASK, Service } from 'rocev2/packets';
import type { Sighting } from 'rocev2/packets/kit';
import type { Headers } from './headers.ts';

/** What is known of the device beside its packets. */
export interface PassiveCheckContext {
  /** It has congestion management, so the ECN bits are its own to set. Default no. */
  readonly congestion?: boolean;
  /** P_Key of its queue pairs; default 0xFFFF. */
  readonly pkey?: number;
  /** Its addresses, each with the one of ours that is used with it; absent: addresses are not checked. */
  readonly addresses?: readonly { readonly device: string; readonly ours: string }[];
}

/** A packet of the device. */
export interface CheckedPacket {
  readonly headers: Headers;
  /** Absent for what the parser refused although it is a RoCE packet. */
  readonly sighting: Sighting | undefined;
  /** Where the ICRC ends, and whether it is right there. */
  readonly icrcEnd: number;
  readonly icrcRight: boolean;
  /** The source port that this connected queue pair used first in this case; its own where it is the first. */
  readonly firstPort: number;
  readonly context: PassiveCheckContext;
}

export interface PassiveCheck {
  readonly rule: string;
  /** Whether the rule says something of this packet. */
  readonly concerns: (packet: CheckedPacket) => boolean;
  /** The fault, as a sentence; undefined when the rule is kept. */
  readonly broken: (packet: CheckedPacket) => string | undefined;
}

const all = (): boolean => true;
const v4 = ({ headers }: CheckedPacket): boolean => headers.version === 4;
const v6 = ({ headers }: CheckedPacket): boolean => headers.version === 6;
const flagsOf = ({ sighting }: CheckedPacket): number => OPCODE_FLAGS[sighting?.opcode ?? -1] ?? 0;
const wellFormed = ({ sighting }: CheckedPacket): boolean => sighting?.wellFormed === true;
const connected = ({ sighting }: CheckedPacket): boolean => {
  const service = (sighting?.opcode ?? 0xff) & SERVICE_MASK;
  return service === Service.Rc || service === Service.Uc || service === Service.Xrc;
};
const response = (packet: CheckedPacket): boolean => wellFormed(packet) && (flagsOf(packet) & OpFlag.Response) !== 0;
const readResponse = (packet: CheckedPacket): boolean => {
  const opcode = (packet.sighting?.opcode ?? 0xff) & ~SERVICE_MASK;
  return response(packet) && opcode >= Op.ReadResponseFirst && opcode <= Op.ReadResponseOnly;
};
const unless = (kept: boolean, otherwise: string): string | undefined => (kept ? undefined : otherwise);

const layoutChecks: readonly PassiveCheck[] = [
  {
    rule: 'ANX-02',
    concerns: all,
    broken: (packet) =>
      unless(wellFormed(packet), 'what follows the UDP header is not BTH, the headers of its opcode, payload and ICRC'),
  },
  {
    rule: 'ANX-20',
    concerns: all,
    broken: ({ headers }) => unless(headers.destPort === 4791, `UDP destination port ${headers.destPort}`),
  },
  {
    rule: 'ANX-21',
    concerns: all,
    broken: ({ headers: { udp, udpLength }, icrcEnd }) =>
      unless(
        icrcEnd === udp + udpLength,
        `UDP length ${udpLength}, and the ICRC ends ${icrcEnd - udp} bytes from the UDP header`,
      ),
  },
  {
    rule: 'ANX-22',
    concerns: all,
    broken: ({ icrcRight }) => unless(icrcRight, 'the ICRC is wrong'),
  },
  {
    rule: 'PKT-19',
    concerns: all,
    broken: ({ headers }) => unless(headers.udpChecksum === 0, `UDP checksum 0x${headers.udpChecksum.toString(16)}`),
  },
  {
    rule: 'ANX-47',
    concerns: connected,
    broken: ({ headers, firstPort }) =>
      unless(headers.sourcePort === firstPort, `UDP source port ${headers.sourcePort}, after ${firstPort}`),
  },
];

const ipv4Checks: readonly PassiveCheck[] = [
  { rule: 'ANX-03', concerns: v4, broken: ({ headers }) => unless(headers.ihl === 5, `IHL ${headers.ihl}`) },
  { rule: 'ANX-05', concerns: v4, broken: ecn },
  {
    rule: 'ANX-06',
    concerns: v4,
    broken: ({ headers: { ip, ipLength }, icrcEnd }) =>
      unless(ip + ipLength === icrcEnd, `total length ${ipLength}, and the ICRC ends at byte ${icrcEnd - ip}`),
  },
  {
    rule: 'ANX-07',
    concerns: v4,
    broken: ({ headers }) => unless(headers.flags === 2, `flags ${headers.flags.toString(2).padStart(3, '0')}`),
  },
  {
    rule: 'ANX-08',
    concerns: v4,
    broken: ({ headers }) => unless(headers.fragmentOffset === 0, `fragment offset ${headers.fragmentOffset}`),
  },
  { rule: 'ANX-10', concerns: v4, broken: udpInside },
  { rule: 'ANX-11', concerns: (packet) => v4(packet) && addressed(packet), broken: sourceIsGid },
  { rule: 'ANX-12', concerns: (packet) => v4(packet) && addressed(packet), broken: destinationIsOurs },
];

const ipv6Checks: readonly PassiveCheck[] = [
  { rule: 'ANX-14', concerns: v6, broken: ecn },
  {
    rule: 'ANX-15',
    concerns: v6,
    broken: ({ headers: { udp, ipLength }, icrcEnd }) =>
      unless(
        udp + ipLength === icrcEnd,
        `payload length ${ipLength}, and the ICRC ends ${icrcEnd - udp} bytes behind the IPv6 header`,
      ),
  },
  { rule: 'ANX-16', concerns: v6, broken: udpInside },
  { rule: 'ANX-18', concerns: (packet) => v6(packet) && addressed(packet), broken: sourceIsGid },
  { rule: 'ANX-19', concerns: (packet) => v6(packet) && addressed(packet), broken: destinationIsOurs },
];

const transportChecks: readonly PassiveCheck[] = [
  {
    rule: 'LEN-14',
    concerns: wellFormed,
    broken: ({ sighting }) => {
      const { at, padCount } = sighting as Sighting;
      const bytes = at.icrc - at.payload;
      return unless(bytes % 4 === 0, `payload of ${bytes - padCount} bytes with a pad of ${padCount}`);
    },
  },
  {
    rule: 'ACK-04',
    concerns: (packet) => response(packet) && ((packet.sighting?.packet.syndrome ?? 0) & 0x60) !== 0,
    broken: (packet) =>
      unless((flagsOf(packet) & OpFlag.Ack) !== 0, `a NAK in opcode 0x${packet.sighting?.opcode.toString(16)}`),
  },
  {
    rule: 'ACK-20',
    concerns: response,
    broken: ({ sighting, context: { pkey = 0xff_ff } }) => {
      const { pkey: seen, fecn, becn } = sighting as Sighting;
      if (seen !== pkey) return `P_Key 0x${seen.toString(16)} and not 0x${pkey.toString(16)}`;
      return unless(fecn === 0 && becn === 0, `FECN ${fecn}, BECN ${becn}`);
    },
  },
  {
    // A MIDDLE with an AETH would be four bytes longer than a path MTU.
    rule: 'RD-03',
    concerns: (packet) => readResponse(packet) && (flagsOf(packet) & (OpFlag.First | OpFlag.Middle)) !== 0,
    broken: ({ sighting }) => {
      const length = sighting?.packet.payload?.length ?? 0;
      return unless(MTUS.includes(length), `${length} bytes behind the headers of its opcode, which is no path MTU`);
    },
  },
  {
    rule: 'RD-05',
    concerns: (packet) => readResponse(packet) && packet.sighting?.packet.syndrome !== undefined,
    broken: ({ sighting }) => {
      const syndrome = sighting?.packet.syndrome ?? 0;
      return unless(syndrome < 0x20, `syndrome 0x${syndrome.toString(16)}`);
    },
  },
];

/** Every passive rule. */
export const PASSIVE_CHECKS: readonly PassiveCheck[] = [
  ...layoutChecks,
  ...ipv4Checks,
  ...ipv6Checks,
  ...transportChecks,
];

function ecn({ headers: { trafficClass }, context }: CheckedPacket): string | undefined {
  return unless(context.congestion === true || (trafficClass & 3) === 0, `ECN ${trafficClass & 3}`);
}

function udpInside({ headers: { protocol } }: CheckedPacket): string | undefined {
  return unless(protocol === 17, `protocol ${protocol}`);
}

/** The destination of datagrams and CNPs depends on the packet that they answer. */
function addressed(packet: CheckedPacket): boolean {
  return packet.context.addresses !== undefined && wellFormed(packet) && connected(packet);
}

function sourceIsGid({ sighting, context: { addresses = [] } }: CheckedPacket): string | undefined {
  const source = sighting?.ip.source ?? '';
  return unless(
    addresses.some(({ device }) => device === source),
    `source ${source}, which is no address of the device`,
  );
}

function destinationIsOurs({ sighting, context: { addresses = [] } }: CheckedPacket): string | undefined {
  const { source = '', destination = '' } = sighting?.ip ?? {};
  const pair = addresses.find(({ device }) => device === source);
  return unless(
    pair === undefined || pair.ours === destination,
    `from ${source} to ${destination}, and its peer is ${pair?.ours}`,
  );
}

const MTUS: readonly number[] = [256, 512, 1024, 2048, 4096];
