/**
 * The page that explains a finding: in the repository for those who read text, on the site for the explorer and for
 * programs. Owns which section that is. Runs in a browser, too.
 */
import { SYMPTOMS } from 'rocev2/pcap';

/** "docs/symptoms.md#no-reply": a file of the repository. */
export function findingGuide(id: string): string {
  return `docs/symptoms.md${sectionOf(id)}`;
}

/** "docs/symptoms.html#no-reply": the same as a page of the site (`npm run site`), relative to the site. */
export function findingPage(id: string): string {
  return `docs/symptoms.html${sectionOf(id)}`;
}

/** An analysis whose findings name their page, as programs get it. */
export function withPages<F extends { readonly id: string }, A extends { readonly findings: readonly F[] }>(
  analysis: A,
  pageOf: (id: string) => string = findingPage,
): A & { readonly findings: readonly (F & { readonly page: string })[] } {
  return { ...analysis, findings: analysis.findings.map((finding) => ({ ...finding, page: pageOf(finding.id) })) };
}

/** Rules share a section; what is neither a symptom nor a rule has none. */
function sectionOf(id: string): string {
  if (SYMPTOMS.some((symptom) => symptom.id === id)) return `#${id}`;
  return id.startsWith('rule/') ? '#rules-of-the-protocol' : '';
}
