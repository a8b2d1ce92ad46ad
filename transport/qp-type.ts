/**
 * The services of queue pairs, and what each is called: in verbs (ibv_qp_type) and on the wire (top bits of the
 * opcode).
 */
import { Service } from '../packets/opcode.ts';

/** Queue pair type, values of ibv_qp_type. */
export const QpType = {
  /** Reliable connection. */
  Rc: 2,
  /** Unreliable connection: no ACKs, no READ, no atomics; a broken message is dropped. */
  Uc: 3,
  /** Unreliable datagram: one packet each, to any queue pair. */
  Ud: 4,
  /** Initiator of an extended reliable connection: sends to any shared receive queue of the target's domain. */
  XrcSend: 9,
  /** Target of an extended reliable connection: receives into shared receive queues. */
  XrcRecv: 10,
} as const;
/** One of the types. */
export type QpType = (typeof QpType)[keyof typeof QpType];

/** The service bits of every packet that a queue pair of this type sends and takes. */
export function serviceOf(type: QpType): Service {
  return SERVICES[type];
}

const SERVICES: Readonly<Record<QpType, Service>> = {
  [QpType.Rc]: Service.Rc,
  [QpType.Uc]: Service.Uc,
  [QpType.Ud]: Service.Ud,
  [QpType.XrcSend]: Service.Xrc,
  [QpType.XrcRecv]: Service.Xrc,
};
