/**
 * Serves the verbs that the application calls: finds the handler in a table that has one for each verb, and sends the
 * answer. Owns no object. Refuses names that are not verbs of the table, those of an object's prototype among them.
 */
import { InvariantError, RoceError } from '../../../packets/errors.ts';
import type { Outbox } from './outbox.ts';
import type { Verb, VerbResults, VerbTable } from './verbs.ts';
import type { WireCall } from './wire.ts';

export class VerbServer {
  readonly #verbs: VerbTable;
  readonly #outbox: Pick<Outbox, 'answer' | 'refuse'>;

  constructor(verbs: VerbTable, outbox: Pick<Outbox, 'answer' | 'refuse'>) {
    this.#verbs = verbs;
    this.#outbox = outbox;
  }

  /** Answers a call, now or when its verb has finished. A bug of ours is answered, and thrown as well. */
  serve(call: WireCall): void {
    const { id, blocks } = call;
    try {
      const value = invoke(this.#verbs, call);
      if (value instanceof Promise) this.#answerLater(id, value);
      else if (id !== 0) this.#outbox.answer(id, blocks, value);
    } catch (error) {
      this.#refuse(id, blocks, error);
    }
  }

  #answerLater(id: number, promise: Promise<unknown>): void {
    promise.then(
      (value) => this.#outbox.answer(id, false, value),
      (error: unknown) => this.#refuse(id, false, error),
    );
  }

  #refuse(id: number, blocks: boolean, error: unknown): void {
    if (id !== 0) this.#outbox.refuse(id, blocks, error);
    if (error instanceof InvariantError) throw error;
  }
}

/** @throws RoceError ERR_ROCE_UNSUPPORTED for what is not a verb, and what the verb throws */
function invoke<V extends Verb>(verbs: VerbTable, { verb, args }: WireCall<V>): VerbResults[V] {
  // Types do not constrain a received message.
  if (!Object.hasOwn(verbs, verb)) throw new RoceError('ERR_ROCE_UNSUPPORTED', `the worker has no verb ${verb}`);
  return verbs[verb](...args);
}
