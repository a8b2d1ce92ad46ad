/**
 * Code of the application that runs inside the machine because of a frame: the trace, and what makes a region durable.
 * What it throws is the application's error, not ours: it leaves the machine, and ends whatever drives it. Owns the
 * mark by which the boundary for errors of ours (internal-errors.ts) tells the two apart. Only objects can be marked:
 * a primitive value that is thrown is taken for an error of ours.
 */
import type { Persist } from '../../transport/grant.ts';
import type { QpTrace } from '../../transport/trace.ts';

const thrown = new WeakSet<object>();

/** Whether a callback of the application has thrown this. */
export function isOfCallback(error: unknown): boolean {
  return typeof error === 'object' && error !== null && thrown.has(error);
}

/** `persist`, with what it throws marked. */
export function markPersist(persist: Persist): Persist {
  return (offset, length) => marked(() => persist(offset, length));
}

/** `trace`, with what it throws marked. Costs a closure per call: a traced device is not a fast one. */
export function markTrace(trace: QpTrace): QpTrace {
  return {
    stateChanged: (...values) => marked(() => trace.stateChanged(...values)),
    acknowledged: (...values) => marked(() => trace.acknowledged(...values)),
    retried: (...values) => marked(() => trace.retried(...values)),
    rnrWait: (...values) => marked(() => trace.rnrWait(...values)),
    judged: (...values) => marked(() => trace.judged(...values)),
    completed: (completion) => marked(() => trace.completed(completion)),
    notified: (qpn) => marked(() => trace.notified(qpn)),
    rate: (...values) => marked(() => trace.rate(...values)),
  };
}

function marked(call: () => void): void {
  try {
    call();
  } catch (error) {
    if (typeof error === 'object' && error !== null) thrown.add(error);
    throw error;
  }
}
