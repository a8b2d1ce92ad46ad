/** Connection management, sans I/O. */
export { ConnectionManager } from './connection-manager.ts';
export { CM_ACTIONS, type CmAction, type CmConnectionMessage, type CmState, cmAction } from './states.ts';
export * from './types.ts';
