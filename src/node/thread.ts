/**
 * `rocev2/thread`: how a thread of a program's own code is started, without the links that `rocev2/node` brings.
 *
 * @module rocev2/thread
 */
export { type WorkerSource, workerSource } from './worker/worker-source.ts';
