/**
 * The worker of the page: the server of `engine/` behind messages. Owns nothing else; no exception leaves it
 * unreported.
 */
import type { WorkerReply, WorkerRequest } from '../engine/protocol.ts';
import { RequestServer } from '../engine/server.ts';
import { openContent } from './content.ts';

/** What a worker's global has that a window's has not. */
interface WorkerScope {
  postMessage(message: WorkerReply): void;
  onmessage: ((event: MessageEvent<WorkerRequest>) => void) | null;
}

// The page's types know windows only.
const scope = self as unknown as WorkerScope;
const turn = new MessageChannel();
let next: (() => void) | undefined;
turn.port1.onmessage = () => next?.();

const server = new RequestServer({
  post: (reply) => scope.postMessage(reply),
  open: openContent,
  // A message to ourselves queues behind the page's, so that its questions come first.
  later: (callback) => {
    next = callback;
    turn.port2.postMessage(null);
  },
});
scope.onmessage = ({ data }) => server.handle(data);
