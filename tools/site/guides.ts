/** Which pages of Markdown the site has, in groups. Owns the list and the page that shows it. */
import { escaped } from './escape.ts';
import { hrefTo, pagePath } from './place.ts';
import { type Content, GUIDES } from './template.ts';

interface Group {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  /** Path in the repository, and what it is good for. */
  readonly pages: Readonly<Record<string, string>>;
}

const GROUPS: readonly Group[] = [
  {
    id: 'start',
    title: 'Start',
    about: 'What this is, and how it is built.',
    pages: {
      'README.md': 'install, the first queue pair, links, commands',
      'ARCHITECTURE.md': 'the problem, the way of a packet, the decisions; for those who have seen no RDMA code',
      'docs/glossary.md': 'every term, with its name in verbs, in the standard and in Wireshark',
      'examples/README.md': 'short programs that run as they stand',
      'tools/README.md': 'the package with the command',
    },
  },
  {
    id: 'learn',
    title: 'Learn',
    about: 'How the protocol behaves, to be seen and tried.',
    pages: {
      'docs/lessons.md': 'the lessons of the playground, as text',
      'docs/congestion.md': 'ECN, CNP and DCQCN: what was reproduced',
      'docs/simulation.md': 'networks of switches, and what was measured in them',
      'docs/experiments.md': 'hosts, a wire and a script: with captures and a report',
    },
  },
  {
    id: 'diagnose',
    title: 'Find out what is wrong',
    about: 'From a capture, or without one.',
    pages: {
      'docs/symptoms.md': 'what the analyzer finds, how it looks, what to do',
      'docs/analyze.md': 'how a capture is analyzed, and how well',
      'docs/counters.md': 'diagnosis by counters of the adapter and of the kernel',
      'docs/filter.md': 'the display filter',
      'docs/export.md': 'captures as tables for SQL',
      'docs/trace.md': 'what a device does, as a file of events',
      'docs/wireshark.md': 'what Wireshark shows, and what it does not',
      'corpus/README.md': 'captures with what a reader should find in them',
    },
  },
  {
    id: 'programs',
    title: 'Write and run programs',
    about: 'With this library, or without knowing of it.',
    pages: {
      'docs/uverbs.md': 'unmodified verbs programs',
      'docs/uverbs-pyverbs.md': 'the tests of rdma-core of Debian 12',
      'docs/uverbs-pyverbs-13.md': 'the tests of rdma-core of Debian 13',
      'docs/rdma-in-ci.md': 'RDMA on CI machines and in containers, without hardware',
      'docs/errors.md': 'what the library throws, what it means, what to do',
      'docs/nvme.md': 'a disk over RDMA, mounted by Linux',
    },
  },
  {
    id: 'results',
    title: 'Results',
    about: 'Who keeps the rules, who speaks with whom, and what it costs.',
    pages: {
      'docs/conformance-report.md': 'each rule of the protocol, this stack and three kernels',
      'docs/rxe-findings.md': 'what Linux does otherwise, with a command and a capture for each',
      'docs/interop.md': 'stock programs in Linux guests against this stack, both roles',
      'docs/conformance.md': 'how to test a device of your own',
      'docs/conformance-registry.md': 'the rules',
      'docs/conformance-mutants.md': 'bugs that the rules catch',
      'docs/conformance-devices.md': 'devices that lack something',
      'docs/conformance-lumina.md': 'checks of recovery on live traffic',
      'docs/conformance-agent.md': 'control of the host of a device',
      'docs/benchmarks.md': 'figures beside their peers',
      'docs/security-tests.md': 'attacks, defences, and their tests',
      'docs/security-budgets.md': 'what floods can draw, fill and delay',
    },
  },
  {
    id: 'reference',
    title: 'Reference',
    about: 'The facts that the code cites, with their sources.',
    pages: {
      'docs/reference/README.md': 'what the pages are, and how far they can be trusted',
      'docs/reference/wire.md': 'every header, byte by byte',
      'docs/reference/rxe.md': 'the software device of Linux',
      'docs/reference/conformance.md': 'the catalogue of rules',
      'docs/reference/analyzer.md': 'symptoms and their evidence',
      'docs/reference/dcqcn.md': 'congestion control: algorithm, parameters, closed forms',
      'docs/reference/hostile.md': 'attacks and defences',
      'docs/reference/nvmeof.md': 'NVMe over Fabrics on RDMA',
      'docs/reference/platform.md': 'Node, TypeScript, native packages, costs',
    },
  },
  {
    id: 'work',
    title: 'Work on it',
    about: 'For those who change it.',
    pages: {
      'CONTRIBUTING.md': 'the inner loop, the commands, the rules of the house',
      'SECURITY.md': 'how to report, and what is promised',
      'CHANGELOG.md': 'what changed',
    },
  },
];

/** Every page, in order: its path in the repository. */
export const GUIDE_PAGES: readonly string[] = GROUPS.flatMap(({ pages }) => Object.keys(pages));

/** The page with all of them. @param titles by path in the repository */
export function guidesPage(titles: ReadonlyMap<string, string>): Content {
  const groups = GROUPS.map(({ id, title, about, pages }) => {
    const items = Object.entries(pages).map(([path, use]) => {
      const link = `<a href="${hrefTo(GUIDES, pagePath(path))}">${escaped(titles.get(path) ?? path)}</a>`;
      return `<li>${link}: ${escaped(use)}</li>`;
    });
    return `<h2 id="${id}">${title}</h2>\n<p>${about}</p>\n<ul>\n${items.join('\n')}\n</ul>`;
  });
  return { path: GUIDES, title: 'Guides', html: `<h1>Guides</h1>\n${groups.join('\n')}` };
}
