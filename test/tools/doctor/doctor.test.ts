/**
 * Goal: `roce doctor` says what can be done on a machine, and for the rest what is missing and how to get it. Method:
 * made-up abilities on a made-up survey, whole outputs; the real list on this machine; the command as a process.
 */
import { describe, expect, it } from 'vitest';
import { ABILITIES } from '../../../tools/doctor/abilities.ts';
import { examine } from '../../../tools/doctor/examine.ts';
import { describeExamination } from '../../../tools/doctor/report.ts';
import type { SurveyedLink } from '../../../tools/links/survey.ts';
import { SUBCOMMANDS } from '../../../tools/program.ts';
import { startRoce } from '../roce/run-roce.ts';

const NO_LINKS = { links: [], interfaces: [] };

function link(name: string, usable: boolean): SurveyedLink {
  const ecn = { set: [], read: [] };
  return { name, usage: `${name}:X`, summary: name, medium: 'IP', ecn, usable, requirements: [] };
}

describe('the examination', () => {
  it('tells what is missing, and how to get it', async () => {
    const abilities = [
      { title: 'to sing', commands: ['roce sing'], needs: () => [] },
      {
        title: 'to fly',
        commands: ['roce fly', 'roce land'],
        needs: async () => [
          { what: 'air', met: true, remedy: '' },
          { what: 'wings', met: false, remedy: 'apt install wings' },
          { what: 'it rains', met: false, remedy: '' },
        ],
      },
    ];
    const lines = describeExamination(await examine(abilities, NO_LINKS));
    expect(lines[0]).toMatch(
      /^\w+ \w+ \S+, \d+ processors, Node v\d+\S+, CRC-32 by (ISA-L|libdeflate|WebAssembly|zlib|tables)$/,
    );
    expect(lines.slice(1, 11)).toEqual([
      '',
      'What can be done here:',
      '           here  commands',
      '  to sing  yes   roce sing',
      '  to fly   no    roce fly, roce land',
      '',
      'missing for: to fly',
      '  wings; apt install wings',
      '  it rains',
      '',
    ]);
    expect(lines[11]).toBe('Links, as --link takes them:');
  });

  it.each([
    ['no link is usable', [link('tap', false)], false],
    ['links stay on this machine', [link('in-process', true), link('loopback', true), link('qemu', true)], false],
    ['one reaches out', [link('loopback', true), link('udp6', true)], true],
  ])('says whether a device can be on a network: %s', async (_, links, usable) => {
    const { abilities } = await examine(ABILITIES, { links, interfaces: [] });
    expect(abilities.find(({ title }) => title === 'a device on a network')).toMatchObject({ usable });
  });

  it('lacks nothing for what needs nothing, and gives a remedy or a reason for all else', async () => {
    const { abilities } = await examine();
    expect(abilities.slice(0, 2).map(({ usable }) => usable)).toEqual([true, true]);
    for (const { usable, missing } of abilities) {
      expect(usable).toBe(missing.length === 0);
      for (const { what } of missing) expect(what).not.toBe('');
    }
  });

  it('names commands that there are', () => {
    const commands = ABILITIES.flatMap((ability) => ability.commands).filter((words) => words.startsWith('roce '));
    const known = SUBCOMMANDS.map(({ name }) => `roce ${name}`);
    expect(commands.filter((words) => !known.includes(words))).toEqual([]);
  });
});

describe('roce doctor', () => {
  it('prints links and interfaces as well, for people and as JSON', async () => {
    const [text, json] = await Promise.all([startRoce(['doctor']).ended, startRoce(['doctor', '--json']).ended]);
    expect(text).toMatchObject({ code: 0, stderr: '' });
    expect(text.stdout).toMatch(/^What can be done here:$.*^Links, as --link takes them:$.*^Interfaces/ms);
    expect(JSON.parse(json.stdout)).toMatchObject({
      machine: { node: process.version, processors: expect.any(Number) },
      abilities: expect.arrayContaining([
        expect.objectContaining({ title: 'a device on a network', usable: expect.any(Boolean) }),
      ]),
      links: expect.any(Array),
      interfaces: expect.any(Array),
    });
  });
});
