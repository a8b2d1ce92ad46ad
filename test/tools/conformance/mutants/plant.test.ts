/**
 * Goal: an anchor is a named place and one node of the syntax tree, not a text. Method: small modules with one bug
 * each, compared as text.
 */
import { describe, expect, it } from 'vitest';
import { plant } from '../../../../tools/conformance/mutants/plant.ts';
import { parseModule, sameTree } from '../../../../tools/conformance/mutants/syntax.ts';
import type { Edit } from '../../../../tools/conformance/mutants/types.ts';

const planted = (text: string, place: string, at: string, edit: Edit): string =>
  plant({ id: 'a-bug', file: 'machine.ts', in: place, at, edit }, text);

const COUNTER = `/* é𝒳 */
export class Counter {
  #count = 0;
  static limit = 7;
  #step(by: number): void {
    this.#count += by; // by
  }
  step(by: number): void {
    if (by > 0) this.#step(by);
  }
}
export class Other {
  #step(): void {
    return;
  }
}
`;

describe('the place of an anchor', () => {
  it('is a private member, which is another than the public one of that name', () => {
    const at = 'this.#count += by;';
    expect(planted(COUNTER, 'Counter.#step', at, 'drop')).toBe(COUNTER.replace(at, ''));
    expect(() => planted(COUNTER, 'Counter.step', at, 'drop')).toThrow('0 nodes');
  });

  it('is a member of one class, though another class has one of that name', () => {
    expect(planted(COUNTER, 'Other.#step', 'return;', 'drop')).toBe(COUNTER.replace('return;', ''));
  });

  it('is a field, static or private', () => {
    expect(planted(COUNTER, 'Counter.limit', '7', { offset: -1 })).toContain('static limit = ((7) - 1);');
    expect(planted(COUNTER, 'Counter.#count', '0', { replace: '1' })).toContain('#count = (1);');
  });

  it('is a function or a variable at the top of the module, exported or not', () => {
    const text = 'const TABLE = [A, B];\nexport const OTHER = [A];\nexport function first(): X { return A; }\n';
    expect(planted(text, 'TABLE', 'A', { replace: 'B' })).toBe(text.replace('[A, B]', '[(B), B]'));
    expect(planted(text, 'OTHER', 'A', { replace: 'B' })).toBe(text.replace('[A]', '[(B)]'));
    expect(planted(text, 'first', 'A', { replace: 'B' })).toBe(text.replace('return A', 'return (B)'));
  });

  it('is the implementation of an overloaded function', () => {
    const text = 'class A {\n f(a: 1): 1;\n f(a: 2): 2;\n f(a: number) { return a; }\n}\n';
    expect(planted(text, 'A.f', 'return a;', 'drop')).toBe(text.replace('return a;', ''));
  });

  it('is an error when nothing, or more than one thing, is called so', () => {
    expect(() => planted(COUNTER, 'Counter.#leap', 'by', 'drop')).toThrow(
      'mutant a-bug: Counter.#leap of machine.ts names 0 places',
    );
    const pair = 'class A { get x() { return 1; }\n set x(to) { f(to); } }';
    expect(() => planted(pair, 'A.x', '1', { offset: 1 })).toThrow('A.x of machine.ts names 2 places');
  });
});

describe('the node of an anchor', () => {
  it('is compared without spaces, comments, parentheses, optional commas and the spelling of numbers', () => {
    const text = 'function f() {\n  return call(\n    (a), // first\n    0xff_ff,\n  );\n}\n';
    expect(planted(text, 'f', 'call(a, 65535)', { replace: 'b' })).toBe('function f() {\n  return (b);\n}\n');
  });

  it('is found in nested functions and blocks', () => {
    const text = 'function f() { return list.map((x) => { if (x) { return x + 1; } return 0; }); }';
    expect(planted(text, 'f', 'x + 1', { keep: 'left' })).toBe(text.replace('x + 1', '(x)'));
  });

  it('is a statement when it has its semicolon, and else an expression', () => {
    const text = 'function f() { a = g(); g(); }';
    expect(planted(text, 'f', 'g();', 'drop')).toBe('function f() { a = g();  }');
    expect(() => planted(text, 'f', 'g()', { replace: '1' })).toThrow('2 nodes');
  });

  it('is an error when it is not there, or twice: mutant, place and anchor are named', () => {
    const text = 'function f() { return a + a; }';
    expect(() => planted(text, 'f', 'b', { offset: 1 })).toThrow(
      'mutant a-bug: f of machine.ts has 0 nodes like "b", not one',
    );
    expect(() => planted(text, 'f', 'a', { offset: 1 })).toThrow(
      'mutant a-bug: f of machine.ts has 2 nodes like "a", not one',
    );
  });

  it('is one node', () => {
    expect(() => planted('function f() { a(); b(); }', 'f', 'a(); b();', 'drop')).toThrow(
      'one expression or statement',
    );
  });
});

describe('an edit', () => {
  const text = 'function f() { if (a || b) c(); else { d(); e(); } return (x + y) * z; }';
  const edited = (at: string, edit: Edit): string => planted(text, 'f', at, edit);

  it.each<[string, Edit, string, string]>([
    ['a || b', { keep: 'left' }, 'a || b', 'a'],
    ['a || b', { keep: 'right' }, 'a || b', 'b'],
    ['a || b', { and: 'p || q' }, 'a || b', '(a || b) && (p || q)'],
    ['a', { or: 'p && q' }, '(a', '((a || (p && q))'],
    ['x + y', { offset: -2 }, '(x + y)', '((x + y) - 2)'],
    ['(x + y) * z', { keep: 'left' }, '(x + y) * z', 'x + y'],
    ['z', { replace: 'z + 1' }, 'z;', '(z + 1);'],
    ['d();', { after: 'd2();' }, 'd();', 'd(); d2();'],
    ['d();', 'drop', 'd();', ''],
    ['c();', 'drop', 'c();', '{}'],
    ['c();', { replace: 'c2();' }, 'c();', 'c2();'],
    ['c();', { after: 'c2();' }, 'c();', '{ c(); c2(); }'],
    ['c();', { replace: 'c2(); c3();' }, 'c();', '{ c2(); c3(); }'],
    ['{ d(); e(); }', { replace: '{ e(); }' }, '{ d(); e(); }', '{ e(); }'],
  ])('of %s by %j means what it says', (at, edit, from, to) => {
    expect(text.split(from)).toHaveLength(2);
    const expected = text.replace(from, to);
    expect(sameTree(parseModule(edited(at, edit)), parseModule(expected))).toBe(true);
    expect(sameTree(parseModule(text), parseModule(expected))).toBe(false);
  });

  it('has to suit the anchor', () => {
    expect(() => edited('a', 'drop')).toThrow('this edit is for a statement');
    expect(() => edited('a', { after: 'b();' })).toThrow('this edit is for a statement');
    expect(() => edited('c();', { offset: 1 })).toThrow('this edit is for an expression');
    expect(() => edited('a', { keep: 'left' })).toThrow('two operands');
    expect(() => edited('a', { replace: 'b();' })).toThrow('"b();" is an expression');
    expect(() => edited('d();', { after: 'd2()' })).toThrow('"d2()" is a statement');
  });

  it('has to leave a module that can be parsed', () => {
    expect(() => planted('function f() { return { a }; }', 'f', '{ a }', { replace: '1 +' })).toThrow();
    expect(() => planted('function f() { for (const a of b) c(a); }', 'f', 'b', { replace: '...b' })).toThrow();
  });
});
