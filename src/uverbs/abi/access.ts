/** Access flags of the ABI that the transport does not have, as enum ib_uverbs_access_flags numbers them. */

/** Pages are brought in when they are used. */
export const ON_DEMAND_ACCESS = 0x40;
/** Hints that a driver may ignore (IB_ACCESS_OPTIONAL). */
export const OPTIONAL_ACCESS = 0x3f_f0_00_00;
