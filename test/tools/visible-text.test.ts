/**
 * Goal: text of others reaches no terminal, clipboard or page as anything but text. Method: each class of characters
 * by itself; words quoted and given to a shell; Markdown by its rules for code spans; the sources searched for prints
 * that go past the sinks.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  codeBlock,
  codeSpan,
  markdownText,
  OWN_COLORS,
  shellQuote,
  visible,
  visibleLine,
} from '../../tools/visible-text.ts';

const TOOLS = fileURLToPath(new URL('../../tools', import.meta.url));

describe('visible text', () => {
  it.each([
    ['an escape sequence', '\x1b[2J', '\\u001b[2J'],
    ['a title (OSC) and its bell', '\x1b]0;x\x07', '\\u001b]0;x\\u0007'],
    ['C1 controls, which are sequences in one character', '\x9b31m\x9d', '\\u009b31m\\u009d'],
    ['a return to the start of the line, a backspace, DEL, NUL', '\r\b\x7f\0', '\\u000d\\u0008\\u007f\\u0000'],
    ['overrides of direction', '\u202a\u202e\u2066\u2069', '\\u202a\\u202e\\u2066\\u2069'],
    ['marks of direction', '\u200e\u200f\u061c', '\\u200e\\u200f\\u061c'],
    ['what has no width', '\u200b\u200d\u2060\ufeff', '\\u200b\\u200d\\u2060\\ufeff'],
    ['separators of lines', '\u2028\u2029', '\\u2028\\u2029'],
    ['tags', '\u{e0041}', '\\udb40\\udc41'],
  ])('shows %s as escapes', (_what, text, shown) => {
    expect(visible(`a${text}b`)).toBe(`a${shown}b`);
  });

  it('leaves everything else, line feeds and tabs included', () => {
    const text = 'Grüße, 世界 🙂\n\tNAK "0x60" \\u001b';
    expect(visible(text)).toBe(text);
    expect(visibleLine('a\n\tb')).toBe('a\\n\\tb');
  });

  it('leaves JSON the same JSON', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(JSON.parse(visible(JSON.stringify({ text }, undefined, 2)))).toEqual({ text });
      }),
    );
  });

  it('keeps our own colours where there are some, and no other sequence', () => {
    expect(visible('\x1b[31mNAK\x1b[0m \x1b[8mhidden', OWN_COLORS)).toBe('\x1b[31mNAK\x1b[0m \\u001b[8mhidden');
  });
});

describe('a word for a shell', () => {
  it.each([
    'plain-name_1.pcapng',
    '',
    'two words',
    "it's",
    '$(touch /tmp/x)`id`',
    'a"b\\c;&|<>*?[!]#~',
    "frame.comment == 'x' && ip.addr == 10.0.0.1",
  ])('is one word with the same characters: %s', (word) => {
    const { stdout } = spawnSync('sh', ['-c', `printf '%s.' ${shellQuote(word)}`], { encoding: 'utf8' });
    expect(stdout).toBe(`${word}.`);
  });

  it('has no character that a terminal takes for a key', () => {
    expect(shellQuote("a\nb\x1b\x03'\\\u202e")).toBe("$'a\\nb\\u001b\\u0003\\'\\\\\\u202e'");
  });
});

describe('Markdown', () => {
  it('has text of others as text', () => {
    expect(markdownText('a | <img src=x> [b](c)\nd\x1b')).toBe('a \\| &lt;img src=x> \\[b\\](c) d\\u001b');
    expect(markdownText('alice prints `a|<b>`')).toBe('alice prints `a\\|<b>`');
    expect(markdownText('`` ` ``<img>`')).toBe('\\`\\` \\` \\`\\`&lt;img>\\`');
    expect(markdownText('\\`<img>`')).toBe('\\\\`<img>`');
  });

  it('has code that ends where it should', () => {
    expect(codeSpan('a`b``c')).toBe('```a`b``c```');
    expect(codeSpan('`')).toBe('`` ` ``');
    expect(codeBlock('sh', 'echo "```"')).toEqual(['````sh', 'echo "```"', '````']);
  });
});

describe('the sources of the tools', () => {
  const sources = readdirSync(TOOLS, { recursive: true, encoding: 'utf8' }).filter(
    (name) => /\.tsx?$/.test(name) && !name.includes('node_modules') && !name.startsWith('dist'),
  );
  const holding = (pattern: RegExp): string[] =>
    sources.filter((name) => pattern.test(readFileSync(join(TOOLS, name), 'utf8'))).sort();

  it('print through the sinks', () => {
    // The benchmarks print figures of their own, and JSON for each other.
    const others = holding(/\bstd(out|err)\.write\(|console\.\w+\(/).filter((name) => !name.startsWith('bench/'));
    expect(others).toEqual(['analyze/command.ts', 'export/command.ts', 'output.ts']);
    for (const name of ['analyze/command.ts', 'export/command.ts'])
      expect(readFileSync(join(TOOLS, name), 'utf8').match(/\.write\((?!visible)/g)).toBe(null);
  });

  it('make no HTML of text in the explorer', () => {
    expect(holding(/innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write/)).toEqual([]);
  });
});
