/**
 * The services a queue pair can give, and what each is called: in verbs (ibv_qp_type) and on the wire (top bits of the opcode).
 */
import { Service } from '../packets/opcode.ts';

/** Queue pair type, values of ibv_qp_type. */
export const QpType = { Rc: 2, Uc: 3, Ud: 4, XrcSend: 9, XrcRecv: 10 } as const;
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
