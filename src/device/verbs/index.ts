/** The objects of the verbs API. */
export type { AddressVector } from './address-vector.ts';
export { Ah } from './ah.ts';
export type { ModifyAttributes, RegMrOptions } from './attributes.ts';
export { Cq, type CqMaker, makeCq } from './cq.ts';
export { Mw } from './mw.ts';
export { Pd, type PdDevice } from './pd.ts';
export type { LocalPd } from './ports.ts';
export { Qp, type QpDevice, type QpInit } from './qp.ts';
export { Srq, type SrqInit } from './srq.ts';
export { Xrcd } from './xrcd.ts';
