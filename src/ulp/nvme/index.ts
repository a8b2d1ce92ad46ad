/**
 * `rocev2/nvme`: disks over RDMA, NVMe over Fabrics. Works with every `RdmaDevice`, in a browser too.
 *
 * @module rocev2/nvme
 */
export * from './auth/index.ts';
export * from './codec/index.ts';
export * from './host/index.ts';
export * from './target/index.ts';
