/** The bytes of NVMe over Fabrics on RDMA, for host, target, printers and tests. Owns nothing but this list. */
export * from './ana.ts';
export * from './authentication.ts';
export * from './command.ts';
export * from './completion.ts';
export * from './discovery.ts';
export * from './fabrics.ts';
export * from './features.ts';
export * from './identify.ts';
export * from './identify-controller.ts';
export * from './log-pages.ts';
export * from './nvm.ts';
export * from './private-data.ts';
export * from './properties.ts';
export * from './sgl.ts';
export * from './status.ts';
export * from './structure.ts';
