/**
 * The frame of a command: headers, lengths, and where the answer goes. What the kernel refuses before it runs a command
 * is refused here, with the errno of linux:core/uverbs_main.c#ib_uverbs_write, #verify_hdr and
 * linux:core/uverbs_uapi.c#uapi_get_method.
 */
import {
  COMMAND_MASK,
  COMMANDS,
  Command,
  type CommandName,
  type Demand,
  EXTENDED_COMMANDS,
  ExtendedCommand,
  type ExtendedName,
  FLAG_EXTENDED,
} from './abi/commands.ts';
import { CMD_HDR, EX_CMD_HDR } from './abi/verbs.ts';
import { Errno, Refusal } from './errno.ts';
import { Fields } from './fields.ts';

/** A command whose lengths are right. */
export interface ParsedCommand {
  readonly name: CommandName;
  readonly extended: boolean;
  /** The structure of the command; short ones of the extended form are filled up with zeros. */
  readonly request: Fields;
  /** What the provider added for its driver. */
  readonly driver: Fields;
  /** Room for the answer, and for that of the driver. */
  readonly room: number;
  readonly driverRoom: number;
}

/** The answer of a command: its structure, and what the driver adds. */
export interface Reply {
  readonly core?: Fields;
  readonly driver?: Fields;
}

const NAMES = new Map<number, CommandName>(
  (Object.keys(Command) as CommandName[]).map((name) => [Command[name], name] as const),
);
const EXTENDED_NAMES = new Map<number, ExtendedName>(
  (Object.keys(ExtendedCommand) as ExtendedName[]).map((name) => [ExtendedCommand[name], name] as const),
);
/** The longest structure of an extended command. */
const FULL_BYTES = 256;

/** Refuses what is too short, too long, unknown or contradicts itself. */
export function parseCommand(bytes: Uint8Array): ParsedCommand {
  if (bytes.length < CMD_HDR.size) throw new Refusal(Errno.EINVAL);
  const header = new Fields(bytes);
  const word = header.u32(CMD_HDR.at.command);
  if ((word & ~(FLAG_EXTENDED | COMMAND_MASK)) !== 0) throw new Refusal(Errno.EINVAL);
  return (word & FLAG_EXTENDED) === 0 ? parsePlain(header, word) : parseExtended(header, word & COMMAND_MASK);
}

/** What people call the command in these bytes, whatever else is wrong with them. */
export function nameOfCommand(bytes: Uint8Array): string {
  if (bytes.length < CMD_HDR.size) return 'a command that is too short';
  const word = new Fields(bytes).u32(CMD_HDR.at.command);
  const number = word & COMMAND_MASK;
  if ((word & FLAG_EXTENDED) === 0) return NAMES.get(number) ?? `command ${number}`;
  const name = EXTENDED_NAMES.get(number);
  return name === undefined ? `extended command ${number}` : `EX_${name}`;
}

function parsePlain(header: Fields, number: number): ParsedCommand {
  const name = NAMES.get(number);
  if (name === undefined) throw new Refusal(Errno.EOPNOTSUPP);
  const demand = COMMANDS[name];
  const { length } = header.bytes;
  const room = 4 * header.u16(CMD_HDR.at.out_words);
  // A DESTROY_CQ of rdma-core 18 and 19 is too short, and taken.
  const short = name === 'DESTROY_CQ' && length === 16;
  if (!short && 4 * header.u16(CMD_HDR.at.in_words) !== length) throw new Refusal(Errno.EINVAL);
  const end = CMD_HDR.size + demand.request;
  if (length < end && !short) throw new Refusal(Errno.ENOSPC);
  if (room < demand.response) throw new Refusal(Errno.ENOSPC);
  const request = filledUp(header.bytes.subarray(CMD_HDR.size, end), demand.request);
  const driver = new Fields(header.bytes.slice(Math.min(end, length)));
  return { name, extended: false, request, driver, room, driverRoom: room - demand.response };
}

function parseExtended(header: Fields, number: number): ParsedCommand {
  const name = EXTENDED_NAMES.get(number);
  if (name === undefined) throw new Refusal(Errno.EOPNOTSUPP);
  const start = CMD_HDR.size + EX_CMD_HDR.size;
  if (header.bytes.length < start) throw new Refusal(Errno.EINVAL);
  const demand = EXTENDED_COMMANDS[name];
  const { response, provider_in_words, provider_out_words, cmd_hdr_reserved } = EX_CMD_HDR.at;
  const coreBytes = 8 * header.u16(CMD_HDR.at.in_words);
  const driverBytes = 8 * header.u16(CMD_HDR.size + provider_in_words);
  const room = 8 * header.u16(CMD_HDR.at.out_words);
  const driverRoom = 8 * header.u16(CMD_HDR.size + provider_out_words);
  if (coreBytes + driverBytes !== header.bytes.length - start) throw new Refusal(Errno.EINVAL);
  if (coreBytes < demand.request) throw new Refusal(Errno.ENOSPC);
  if (header.u32(CMD_HDR.size + cmd_hdr_reserved) !== 0) throw new Refusal(Errno.EINVAL);
  checkRoom(header.u64(CMD_HDR.size + response) !== 0n, room, driverRoom, demand);
  const request = filledUp(header.bytes.subarray(start, start + coreBytes), FULL_BYTES);
  const driver = new Fields(header.bytes.slice(start + coreBytes));
  return { name, extended: true, request, driver, room, driverRoom };
}

function checkRoom(answered: boolean, room: number, driverRoom: number, demand: Demand): void {
  const some = room > 0 || driverRoom > 0;
  if (answered !== some) throw new Refusal(Errno.EINVAL);
  if (answered && room < demand.response) throw new Refusal(Errno.ENOSPC);
}

/** What the structure of today has beyond that of the caller is 0 (linux:core/uverbs_cmd.c#uverbs_request). */
function filledUp(bytes: Uint8Array, length: number): Fields {
  const full = new Uint8Array(Math.max(length, bytes.length));
  full.set(bytes);
  return new Fields(full);
}

/** The bytes for the response buffer: what does not fit is cut off (linux:core/uverbs_cmd.c#uverbs_response). */
export function replyBytes({ extended, room, driverRoom }: ParsedCommand, { core, driver }: Reply): Uint8Array {
  if (core === undefined) return NOTHING;
  if (!extended) {
    const all = new Uint8Array(core.bytes.length + (driver?.bytes.length ?? 0));
    all.set(core.bytes);
    if (driver !== undefined) all.set(driver.bytes, core.bytes.length);
    return all.subarray(0, room);
  }
  const all = new Uint8Array(room + driverRoom);
  all.set(core.bytes.subarray(0, room));
  if (driver !== undefined) all.set(driver.bytes.subarray(0, driverRoom), room);
  return all;
}

const NOTHING = new Uint8Array(0);
