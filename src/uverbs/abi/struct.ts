/**
 * Structures of C, declared by their fields: offsets and size follow by the rules of C on the machines that Linux runs
 * rdma on, where every number is aligned to its size. Owns the arithmetic; the tables beside it have the structures.
 */

/** A member: how many bytes, and what its offset is a multiple of. */
export interface Member {
  readonly size: number;
  readonly align: number;
}

/** Numbers in the byte order of the machine, which is little-endian here. */
export const u8: Member = { size: 1, align: 1 };
export const u16: Member = { size: 2, align: 2 };
export const u32: Member = { size: 4, align: 4 };
export const s32: Member = u32;
export const u64: Member = { size: 8, align: 8 };
/** A number in network byte order. */
export const be64: Member = u64;

/** An array, or a member that is of no interest in itself. */
export function bytes(size: number, align = 1): Member {
  return { size, align };
}

/** A structure: its name in C, its size, and the offset of each member. */
export interface Struct<Name extends string = string> extends Member {
  readonly name: string;
  readonly at: Readonly<Record<Name, number>>;
  readonly members: Readonly<Record<Name, Member>>;
}

/** Lays out the members in their order. What C has at the end without a size, a flexible array, is left out. */
export function struct<Name extends string>(name: string, members: Readonly<Record<Name, Member>>): Struct<Name> {
  const at = {} as Record<Name, number>;
  let end = 0;
  let align = 1;
  for (const key of Object.keys(members) as Name[]) {
    const member = members[key];
    end = roundUp(end, member.align);
    at[key] = end;
    end += member.size;
    align = Math.max(align, member.align);
  }
  return { name, size: roundUp(end, align), align, at, members };
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}
