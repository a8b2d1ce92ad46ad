/** The objects of the verbs API. */
export type { AddressVector } from './address-vector.ts';
export { Ah } from './ah.ts';
export { Cq, type CqMaker, makeCq } from './cq.ts';
export { Mw } from './mw.ts';
export { Pd, type RegMrOptions } from './pd.ts';
export { type ModifyAttributes, Qp, type QpInit } from './qp.ts';
export { Srq, type SrqInit } from './srq.ts';
export { Xrcd } from './xrcd.ts';
