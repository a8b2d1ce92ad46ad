/** A capture for each symptom: the one that its picture shows. Owns the choice and the page with all of them. */
import { SYMPTOMS } from 'rocev2/pcap';
import { allScenes } from '../symptoms/index.ts';
import { escaped } from './escape.ts';
import { explorerPath, hrefTo } from './place.ts';
import { type Content, SAMPLES, SYMPTOMS_PAGE } from './template.ts';

export interface Sample {
  /** Id of the symptom. */
  readonly id: string;
  /** What happens in it. */
  readonly about: string;
  readonly bytes: Uint8Array;
}

/** All of them, in the order of the symptoms. */
export async function symptomSamples(): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (const { id } of SYMPTOMS) {
    const scene = allScenes().find(({ symptom, triggers }) => triggers && symptom === id);
    if (scene === undefined) throw new Error(`${id} has no scene that shows it`);
    samples.push({ id, about: scene.about, bytes: await scene.make() });
  }
  return samples;
}

/** Where the file itself is in the site. */
export const samplePath = (id: string): string => `docs/symptoms/${id}.pcapng`;

/** What follows the heading of a symptom: the way to its capture. Nothing for other headings. */
export function sampleLinks(id: string, from: string): string {
  if (!SYMPTOMS.some((symptom) => symptom.id === id)) return '';
  return `<p><a href="${hrefTo(from, explorerPath(id))}">Open this capture in the explorer</a>, or take <a href="${hrefTo(from, samplePath(id))}">the file</a>.</p>\n`;
}

/** The page with all of them. */
export function samplesPage(samples: readonly Sample[]): Content {
  const rows = samples.map(({ id, about }) => {
    const { title = id, complaint = '' } = SYMPTOMS.find((symptom) => symptom.id === id) ?? {};
    const [open, symptom, file] = [explorerPath(id), SYMPTOMS_PAGE, samplePath(id)].map((to) => hrefTo(SAMPLES, to));
    return `<tr><td><a href="${open}">${escaped(title)}</a></td><td>${escaped(complaint)}</td><td>${escaped(about)}</td>
<td><a href="${symptom}#${id}" aria-label="Symptom: ${escaped(title)}">symptom</a>, <a href="${file}" aria-label="File: ${escaped(title)}">file</a></td></tr>`;
  });
  return {
    path: SAMPLES,
    title: 'Sample captures',
    html: `<h1>Sample captures</h1>
<p>One capture for each thing that goes wrong with RDMA over Ethernet. The first link opens it in the explorer, which
says what is wrong, which packets prove it, and what to do. The captures were made with this project's own stack on a
simulated network.</p>
<div class="wide" role="group" aria-label="Table" tabindex="0"><table>
<thead><tr><th>open it</th><th>what is seen</th><th>what happens in it</th><th>more</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table></div>`,
  };
}
