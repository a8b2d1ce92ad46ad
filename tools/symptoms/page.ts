/**
 * docs/symptoms.md and its pictures, made from the symptoms and their scenes, so that they match what the analyzer
 * does.
 *
 * Owns the layout of the page. `npm run docs:symptoms` writes it; a test compares it.
 */

import { type Finding, RULE_LIST, SYMPTOMS, type Symptom } from 'rocev2/pcap';
import { allScenes } from './index.ts';
import { draw, pictureOf } from './picture.ts';

/** Text of each file, by its path from the root of the project. */
export async function symptomFiles(): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const sections: string[] = [];
  for (const symptom of SYMPTOMS) sections.push(await section(symptom, files));
  files.set('docs/symptoms.md', `${[HEAD, table(), ...sections, rules()].join('\n\n')}\n`);
  return files;
}

function table(): string {
  const rows = SYMPTOMS.map(({ id, title, complaint }) => `| [${id}](#${id}) | ${title} | ${complaint} |`);
  return ['| finding | what it is | what is seen |', '| --- | --- | --- |', ...rows].join('\n');
}

async function section(symptom: Symptom, files: Map<string, string>): Promise<string> {
  const { id, title, complaint, about, advice, commands } = symptom;
  const scenes = allScenes().filter((scene) => scene.symptom === id);
  const shown = scenes.find(({ triggers }) => triggers);
  const drawn = shown === undefined ? undefined : draw(await shown.make());
  const finding = drawn?.analysis.findings.find((each) => each.id === id);
  if (shown === undefined || drawn === undefined || finding === undefined)
    throw new Error(`${id} has no scene that shows it`);
  files.set(`docs/symptoms/${id}.svg`, pictureOf(drawn, id));
  return [
    `## ${id}`,
    `**${title}.** ${complaint}`,
    about,
    `![${escaped(shown.about)}](symptoms/${id}.svg)`,
    `${shown.about} \`roce analyze\` reports:`,
    quote(finding),
    `What to do:\n\n${list(advice)}`,
    commands.length === 0 ? '' : `\`\`\`sh\n${commands.join('\n')}\n\`\`\``,
    alike(scenes.filter(({ triggers }) => !triggers).map(({ about: words }) => words)),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function quote({ severity, text, frames }: Finding): string {
  return `> ${severity}: ${text} (frames ${frames.join(', ')})`;
}

function alike(scenes: readonly string[]): string {
  return scenes.length === 0 ? '' : `Looks alike and is none, and the analyzer keeps quiet:\n\n${list(scenes)}`;
}

function list(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n');
}

function rules(): string {
  const rows = RULE_LIST.map(
    ({ id, says, source, severity }) => `| \`rule/${id}\` | ${severity} | ${says} | ${source} |`,
  );
  const head = ['| finding | severity | rule | source |', '| --- | --- | --- | --- |'];
  return ['## Rules of the protocol', RULES_ABOUT, [...head, ...rows].join('\n')].join('\n\n');
}

function escaped(text: string): string {
  return text.replace(/[[\]]/g, (letter) => `\\${letter}`);
}

const HEAD = `# Symptoms

What \`roce analyze\` finds in a capture, its evidence, and what to do. Each picture is a capture made with this project's own stack on a simulated
network (\`tools/symptoms/\`). The text below it is the finding of the analyzer in that capture. A source that begins with "ref:" is a page of
[docs/reference](reference/README.md). An error ends connections or loses data, a warning costs speed, a note is only information.`;

const RULES_ABOUT =
  'Beside the symptoms, every packet is checked against these rules. A packet with a wrong ICRC breaks none: its receiver drops it.';
