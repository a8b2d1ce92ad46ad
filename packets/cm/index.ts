/** Connection management messages: everything of this folder but its private helpers. */
export * from './drep.ts';
export * from './dreq.ts';
export * from './ip-cm-header.ts';
export * from './lap.ts';
export * from './message.ts';
export * from './mra.ts';
export * from './path.ts';
export * from './rej.ts';
export * from './rep.ts';
export * from './req.ts';
export * from './rtu.ts';
export * from './sidr.ts';
