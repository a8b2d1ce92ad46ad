/** What a machine needs for programs of libibverbs, and whether it is there. Looks only. */
import { existsSync, readdirSync } from 'node:fs';
import { findTool } from '../lab/tool.ts';

/** Path of the C compiler that builds the shim; undefined where there is none. */
export function findCompiler(): string | undefined {
  return findTool('cc') ?? findTool('gcc') ?? findTool('clang');
}

/** Whether libibverbs finds its provider for rxe in one of the usual places. A program may bring its own. */
export function hasRxeProvider(): boolean {
  return PROVIDER_PLACES.some((directory) => existsSync(directory) && readdirSync(directory).includes('rxe.driver'));
}

const PROVIDER_PLACES = ['/etc/libibverbs.d', '/usr/local/etc/libibverbs.d', '/usr/etc/libibverbs.d'];
