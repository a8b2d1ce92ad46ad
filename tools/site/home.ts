/** The front page: what RDMA is, what this is, and where to go. Owns its words. */
import { escaped } from './escape.ts';
import { EXPLORER, explorerPath, hrefTo, lessonHash, pagePath } from './place.ts';
import { ANNOTATED, API, type Content, GUIDES, HOME, LESSONS_PAGE, SAMPLES, SYMPTOMS_PAGE } from './template.ts';

/** @param withApi whether the site has the pages of the API */
export function homePage(withApi: boolean): Content {
  const cards = CARDS.filter(({ to }) => withApi || to !== API).map(
    ({ name, to, hash = '', about }) =>
      `<li><a href="${hrefTo(HOME, to)}${escaped(hash)}">${name}</a><p>${about}</p></li>`,
  );
  return {
    path: HOME,
    title: 'rocev2: RDMA over Ethernet, to be read, run and looked into',
    html: `<h1>rocev2</h1>
<p>RDMA lets a program read and write the memory of another machine through the network card, without a system call or a
copy at either end. RoCEv2 carries it in UDP datagrams (port 4791) over plain Ethernet; most storage and GPU clusters run
on it. The card does all the work, so there is little to read, to test against, or to look into when it misbehaves.</p>
<p>rocev2 is that card in TypeScript: the whole protocol in user space. Everything on these pages that moves is that
stack, in your browser. Nothing is sent anywhere.</p>
<h2 id="next">What to do next</h2>
<ul class="cards">
${cards.join('\n')}
</ul>`,
  };
}

interface Card {
  readonly name: string;
  readonly to: string;
  readonly hash?: string;
  readonly about: string;
}

const CARDS: readonly Card[] = [
  {
    name: 'Take the first lesson',
    to: EXPLORER,
    hash: lessonHash('what-rdma-is'),
    about: 'What RDMA is, for those who know sockets: say what will happen, then see it, a packet at a time.',
  },
  {
    name: 'Read a connection byte by byte',
    to: ANNOTATED,
    about: 'Ten packets between two Linux machines, every field explained.',
  },
  {
    name: 'Look into a capture that went wrong',
    to: explorerPath('sequence-error'),
    about: 'Packets lost: what the analyzer says, the packets that prove it, the ladder.',
  },
  { name: 'Lose a packet yourself', to: EXPLORER, hash: lessonHash('lost-packet'), about: 'And see what it costs.' },
  { name: 'Open your own capture', to: EXPLORER, about: 'Drop a pcap or pcapng file on the page. It stays there.' },
  {
    name: 'Sample captures',
    to: SAMPLES,
    about: 'One for each symptom: no answer, a wrong key, a PFC storm, and what else there is.',
  },
  { name: 'Symptoms', to: SYMPTOMS_PAGE, about: 'What is seen, what it is, what to do about it.' },
  { name: 'All lessons', to: LESSONS_PAGE, about: 'From the first WRITE to congestion control, as text.' },
  {
    name: 'Install, and write a queue pair',
    to: pagePath('README.md'),
    about: 'Two devices in thirty lines, links, commands.',
  },
  {
    name: 'How it is built',
    to: pagePath('ARCHITECTURE.md'),
    about: 'The problem, the way of a packet, the decisions.',
  },
  {
    name: 'Who keeps the rules',
    to: pagePath('docs/conformance-report.md'),
    about: 'Every rule of the protocol, against this stack and three Linux kernels.',
  },
  {
    name: 'Who speaks with whom',
    to: pagePath('docs/interop.md'),
    about: 'Stock programs in Linux guests against this stack, both roles.',
  },
  { name: 'All guides', to: GUIDES, about: 'Analysis, simulation, verbs programs, reference.' },
  { name: 'API', to: API, about: 'Every public name of the library.' },
];
