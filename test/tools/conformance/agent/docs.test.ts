// Goal: what is documented is what is spoken. Method: every example line of the agent's page goes through the shapes
// that the client uses, every call has an example, and every call of the agent's table is one that host control has.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { AGENT_DIRECTORY } from '../../../../tools/conformance/agent/build.ts';
import { ANSWER, GIVES, HELLO, isCall, REQUEST, TAKES } from '../../../../tools/conformance/host-control/protocol.ts';

const PAGE = fileURLToPath(new URL('../../../../docs/conformance-agent.md', import.meta.url));
const CALLS = Object.keys(TAKES).sort();

describe("the page about the agent's protocol", () => {
  const lines = readFileSync(PAGE, 'utf8').split('\n');
  const said = lines.filter((line) => line.startsWith('> {')).map((line) => JSON.parse(line.slice(2)));
  const answered = lines.filter((line) => line.startsWith('< {')).map((line) => JSON.parse(line.slice(2)));

  it('begins with what an agent says first', () => {
    expect(HELLO.parse(answered[0]).hello.device).toBe('rxe0');
    expect(answered.length).toBe(said.length + 1);
  });

  it('has an example of each call, and each example is one', () => {
    const shown = new Set<string>();
    for (const [index, example] of said.entries()) {
      const { id, call, args } = REQUEST.parse(example);
      if (!isCall(call)) throw new Error(`there is no call ${call}`);
      const answer = ANSWER.parse(answered[index + 1]);
      expect(answer.id).toBe(id);
      if ('ok' in answer) GIVES[call].parse(answer.ok);
      expect(TAKES[call].safeParse(args).error, JSON.stringify(example)).toBeUndefined();
      shown.add(call);
    }
    expect([...shown].sort()).toEqual(CALLS);
  });
});

describe("the agent's table of calls", () => {
  it('has each call that host control has, and no other', () => {
    const table = readFileSync(join(AGENT_DIRECTORY, 'calls.c'), 'utf8');
    const names = [...table.matchAll(/^\t\{ "([a-z.]+)", call_/gm)].map((match) => match[1]);
    expect(names.sort()).toEqual(CALLS);
  });
});
