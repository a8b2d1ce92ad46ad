/**
 * Goal: a call reaches the handler of its verb and nothing else, and every answer and error finds its way back. Method:
 * tables with scripted handlers, and messages as another thread could make them.
 */
import { describe, expect, it } from 'vitest';
import { InvariantError, RoceError } from '../../../packets/errors.ts';
import { VerbServer } from '../../../src/node/worker/verb-server.ts';
import type { VerbTable } from '../../../src/node/worker/verbs.ts';
import type { WireCall } from '../../../src/node/worker/wire.ts';
import { refusal } from './support.ts';

class Answers {
  readonly lines: string[] = [];

  answer(id: number, blocks: boolean, value: unknown): void {
    this.lines.push(`${id}${blocks ? ' blocks' : ''}: ${JSON.stringify(value)}`);
  }

  refuse(id: number, blocks: boolean, error: unknown): void {
    const code = error instanceof RoceError ? `${error.code} ` : '';
    this.lines.push(`${id}${blocks ? ' blocks' : ''}! ${code}${error instanceof Error ? error.message : error}`);
  }
}

/** A table with the verbs of one test. */
function serving(some: Partial<VerbTable>): { server: VerbServer; answers: Answers } {
  const answers = new Answers();
  return { server: new VerbServer(some as VerbTable, answers), answers };
}

/** What came over the port: nobody has checked it. */
const message = (verb: string, args: readonly unknown[] = [], id = 1): WireCall =>
  JSON.parse(JSON.stringify({ id, blocks: true, verb, args }));

describe('a verb', () => {
  it('is served with its arguments, and answered at once', () => {
    const { server, answers } = serving({ resizeCq: (cq, capacity) => new SharedArrayBuffer(cq * capacity) });
    const { server: pds, answers: handles } = serving({ allocPd: () => 7 });
    server.serve({ id: 3, blocks: true, verb: 'resizeCq', args: [2, 8] });
    pds.serve({ id: 4, blocks: false, verb: 'allocPd', args: [] });
    expect([answers.lines, handles.lines]).toEqual([['3 blocks: {}'], ['4: 7']]);
  });

  it('is answered when it is, if it takes time', async () => {
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { server, answers } = serving({
      resolve: () => finished,
      shutdown: () => Promise.reject(new RoceError('ERR_ROCE_CLOSED', 'gone')),
    });
    server.serve({ id: 1, blocks: false, verb: 'resolve', args: [{ version: 4, w0: 0, w1: 0, w2: 0, w3: 1 }] });
    server.serve({ id: 2, blocks: false, verb: 'shutdown', args: [] });
    await new Promise((resolve) => setImmediate(resolve));
    expect(answers.lines).toEqual(['2! ERR_ROCE_CLOSED gone']);
    finish();
    await new Promise((resolve) => setImmediate(resolve));
    expect(answers.lines).toEqual(['2! ERR_ROCE_CLOSED gone', '1: undefined']);
  });

  it('that is silent is not answered, whatever comes of it', () => {
    const forgotten: number[] = [];
    const { server, answers } = serving({
      forgetRequest: (request) => {
        forgotten.push(request);
      },
      refuseRequest: () => {
        throw new RoceError('ERR_ROCE_STATE', 'too late');
      },
    });
    server.serve({ id: 0, blocks: false, verb: 'forgetRequest', args: [5] });
    server.serve({ id: 0, blocks: false, verb: 'refuseRequest', args: [6] });
    expect([forgotten, answers.lines]).toEqual([[5], []]);
  });

  it('that meets a bug of ours says so, and ends the worker', () => {
    const { server, answers } = serving({
      destroyQp: () => {
        throw new InvariantError('a bug');
      },
    });
    expect(() => server.serve({ id: 1, blocks: true, verb: 'destroyQp', args: [1] })).toThrow(InvariantError);
    expect(answers.lines).toEqual(['1 blocks! a bug']);
  });
});

describe('what is no verb', () => {
  it.each(['', 'createqp', 'regMr ', 'constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'])(
    '%j is refused by name',
    (verb) => {
      const { server, answers } = serving({});
      server.serve(message(verb));
      expect(answers.lines).toEqual([`1 blocks! ERR_ROCE_UNSUPPORTED the worker has no verb ${verb}`]);
    },
  );

  it('is passed over where no answer is wanted', () => {
    const { server, answers } = serving({});
    expect(refusal(() => server.serve(message('__proto__', [], 0)))).toBe('nothing');
    expect(answers.lines).toEqual([]);
  });
});
