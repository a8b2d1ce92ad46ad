/** A packet with all that an analysis says of it, and its outline: for tests that filters judge both alike. */
import { aethSyndrome } from '../../../packets/aeth.ts';
import { FrameStatus } from '../../../packets/frame.ts';
import { AETH_AT } from '../../../packets/opcode.ts';
import { icrcState } from '../../../pcap/dissection.ts';
import { type FilterSubject, PacketOutline } from '../../../pcap/filter/index.ts';

/** With the ICRC verified, and no conversation of number 0, which no analysis gives. */
export function completed(subject: FilterSubject): FilterSubject {
  const { facts, dissection } = subject;
  const { marks = 0, relativePsn = Number.NaN, conversation } = facts ?? {};
  const known = conversation?.id === 0 ? undefined : conversation;
  return { ...subject, facts: { marks, relativePsn, conversation: known, icrc: icrcState(dissection) } };
}

/** The outline of the same. */
export function outlineOf(subject: FilterSubject): PacketOutline {
  const { packet, dissection, facts, interfaceName } = completed(subject);
  const { frame, status } = dissection;
  const hasBth = frame.bthOffset >= 0;
  const aethAt = status === FrameStatus.Ok ? (AETH_AT[frame.opcode] ?? -1) : -1;
  const outline = new PacketOutline();
  outline.set({
    number: packet.number,
    originalLength: packet.originalLength,
    interfaceIndex: packet.interfaceIndex,
    comments: packet.comments,
    status,
    ipVersion: frame.ipVersion,
    trafficClass: frame.trafficClass,
    opcode: hasBth ? frame.opcode : -1,
    psn: frame.psn,
    destQpn: frame.destQpn,
    syndrome: aethAt < 0 ? -1 : aethSyndrome(frame.view, frame.bthOffset + aethAt),
    payloadLength: frame.payloadLength,
    marks: facts?.marks ?? 0,
    relativePsn: facts?.relativePsn ?? Number.NaN,
    conversation: facts?.conversation?.id ?? 0,
    icrc: icrcState(dissection),
  });
  outline.interfaceName = interfaceName;
  return outline;
}
