/**
 * Why a program file does not get the shim before it, where its file shows that: the loader of the C library is what
 * puts it there. Looks at files only.
 *
 *   program header: 0 type (4); of the file header: 32 offset of the table (8), 54 entry size (2), 56 count (2)
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { isElf } from '../lab/elf.ts';
import { findTool } from '../lab/tool.ts';

/** A sentence, or undefined: for scripts, and for what is not there or cannot be read. */
export function whyNoShim(command: string): string | undefined {
  const path = command.includes('/') ? command : findTool(command);
  const facts = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
  if (path === undefined || facts?.isFile() !== true) return undefined;
  const changesUser = (facts.mode & SET_UID) !== 0 && facts.uid !== process.geteuid?.();
  const changesGroup = (facts.mode & SET_GID) !== 0 && facts.gid !== process.getegid?.();
  if (changesUser || changesGroup) return `${command} changes its user or group (setuid): the loader drops the shim`;
  const head = headOf(path);
  if (head.length >= 5 && head.readUInt32BE(0) === ELF && head[4] === CLASS_32)
    return `${command} is a program of 32 bits, and the shim is not`;
  if (isElf(head) && !hasInterpreter(head)) return `${command} is linked statically: the shim cannot get before it`;
  return undefined;
}

/** Program headers stand at the beginning of a file, as linkers make it. */
function hasInterpreter(head: Buffer): boolean {
  const start = Number(head.readBigUInt64LE(32));
  const [size, count] = [head.readUInt16LE(54), head.readUInt16LE(56)];
  for (let at = start; at < start + size * count; at += size)
    if (at + 4 > head.length || head.readUInt32LE(at) === PT_INTERP) return true;
  return false;
}

function headOf(path: string): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  try {
    const file = openSync(path, 'r');
    try {
      return head.subarray(0, readSync(file, head, 0, HEAD_BYTES, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return head.subarray(0, 0);
  }
}

const SET_UID = 0o4000;
const SET_GID = 0o2000;
const ELF = 0x7f_45_4c_46;
const CLASS_32 = 1;
const PT_INTERP = 3;
const HEAD_BYTES = 4096;
