/** Connection management, sans I/O. */
export { ConnectionManager, type ListenOptions } from './connection-manager.ts';
export { checkAccept, checkConnect, checkResolve, checkSidrAnswer } from './parameters.ts';
export * from './sidr-types.ts';
export { type CmAction, type CmConnectionMessage, type CmState, cmAction } from './states.ts';
export * from './types.ts';
