/** Goal: an answer lies where the program looks for it, whatever version of the structures it was compiled with. */
import { describe, expect, it } from 'vitest';
import { ExtendedCommand } from '../../src/uverbs/abi/commands.ts';
import { EX_CREATE_QP, EX_CREATE_QP_RESP } from '../../src/uverbs/abi/queues.ts';
import { CMD_HDR, EX_CMD_HDR } from '../../src/uverbs/abi/verbs.ts';
import { type ParsedCommand, parseCommand, type Reply, replyBytes } from '../../src/uverbs/command.ts';
import { Fields } from '../../src/uverbs/fields.ts';
import { fill } from './support/program.ts';

const of = (...bytes: readonly number[]) => new Fields(Uint8Array.from(bytes));
const REPLY: Reply = { core: of(1, 2, 3, 4, 5, 6, 7, 8), driver: of(11, 12, 13, 14) };

function answer(extended: boolean, room: number, driverRoom: number, reply = REPLY): number[] {
  const name: ParsedCommand['name'] = 'CREATE_CQ';
  return [...replyBytes({ name, extended, request: of(), driver: of(), room, driverRoom }, reply)];
}

describe('the answer to an extended command', () => {
  it('has the part of the driver behind the room of the other, in which what is missing is 0', () => {
    expect(answer(true, 8, 4)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14]);
    expect(answer(true, 10, 6)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 11, 12, 13, 14, 0, 0]);
  });

  it('is cut where there is no room, each part by itself', () => {
    expect(answer(true, 4, 4)).toEqual([1, 2, 3, 4, 11, 12, 13, 14]);
    expect(answer(true, 8, 2)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 11, 12]);
    expect(answer(true, 8, 0)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(answer(true, 8, 2, { core: of(1, 2) })).toEqual([1, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
  });
});

describe('the answer to a plain command', () => {
  it('is one after the other, as far as there is room', () => {
    expect(answer(false, 12, 0)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14]);
    expect(answer(false, 10, 0)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 11, 12]);
    expect(answer(false, 12, 0, { core: of(1, 2) })).toEqual([1, 2]);
  });

  it('is nothing where there is none', () => {
    expect([answer(false, 12, 0, {}), answer(true, 12, 4, {})]).toEqual([[], []]);
  });
});

it('an extended command of a program that knows fewer members has 0 in the others', () => {
  const { rwq_ind_tbl_handle, source_qpn, user_handle } = EX_CREATE_QP.at;
  // A multiple of eight bytes.
  const request = fill(EX_CREATE_QP, { user_handle: 7, source_qpn: 9 }).subarray(0, rwq_ind_tbl_handle);
  const words = { in_words: request.length / 8, out_words: EX_CREATE_QP_RESP.size / 8 };
  const header = fill(CMD_HDR, { command: 0x80_00_00_00 + ExtendedCommand.CREATE_QP, ...words });
  const bytes = Uint8Array.from([...header, ...fill(EX_CMD_HDR, { response: 1 }), ...request]);
  const parsed = parseCommand(bytes);
  expect([parsed.name, parsed.extended, parsed.request.u32(user_handle)]).toEqual(['CREATE_QP', true, 7]);
  expect([parsed.request.u32(rwq_ind_tbl_handle), parsed.request.u32(source_qpn)]).toEqual([0, 0]);
});
