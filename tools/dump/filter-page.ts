/**
 * The page about the filter language, `docs/filter.md`: made from the words themselves; a test compares the two.
 *
 * Run as a program it writes the page: `npx tsx tools/dump/filter-page.ts`.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { WORD_GROUPS } from 'rocev2/pcap/filter';

/** The page as Markdown. */
export function filterPage(): string {
  const groups = WORD_GROUPS.map(({ title, words }) => {
    const rows = words.map(({ syntax, aliases, meaning, choices }) => {
      const also = aliases.map((alias) => `\`${alias}\``).join(', ');
      const names = choices.length === 0 ? '' : `: ${choices.map((choice) => `\`${choice}\``).join(', ')}`;
      return `| \`${syntax}\` | ${meaning}${names} | ${also} |`;
    });
    return [`## ${title}`, '', '| word | matches | also |', '| --- | --- | --- |', ...rows, ''].join('\n');
  });
  return `${[INTRODUCTION, ...groups, END].join('\n')}`;
}

const INTRODUCTION = `# The display filter

\`roce dump FILE 'FILTER'\`, \`roce dump -r FILE FILTER ...\` and the filter line of the explorer use this language. It resembles
that of tcpdump and adds words for RoCE. \`roce dump --filter-help\` prints it.

- Words are joined with \`and\`, \`or\`, \`not\` (or \`&&\`, \`||\`, \`!\`) and parentheses. \`not\` binds most tightly, then \`and\`, then \`or\`; pcap-filter(7) gives
  the last two the same rank.
- \`N\` is a number (\`5\`, \`0x11\`), a range (\`10-20\`), several with commas (\`1,5,7-9\`) or a comparison (\`> 1000\`). A range of PSNs may pass 0xffffff.
- Any field by tshark's name, as \`roce dump --json\` prints it, stands alone (the packet has it; also the start of names, such as \`infiniband.reth\`) or
  is compared with \`==\`, \`!=\`, \`<\`, \`<=\`, \`>\`, \`>=\` or \`contains\`: \`infiniband.bth.psn == 5\`, \`ip.src == 10.0.0.0/24\`. \`ip.addr\`, \`ipv6.addr\`,
  \`eth.addr\`, \`udp.port\` and \`tcp.port\` stand for both ends. A packet without the field passes no comparison, not even \`!=\`.
- A filter that makes no sense is refused with the column, what was expected there, and a suggestion.
- Words of the analysis use the packets before. The id of a conversation can become smaller while a capture is read, when the two directions of a
  connection are recognized as one.
`;

const END = `## Examples

| filter | shows |
| --- | --- |
| \`nak or rnr\` | negative acknowledgements |
| \`host 10.0.0.1 and write and psn 0xfffff0-15\` | WRITEs around the wrap of the PSN |
| \`roce and not cnp and (bad-icrc or malformed)\` | what receivers drop silently |
| \`retransmission and qp 0x11\` | retransmissions to one queue pair |
| \`cm req or cm rej\` | connection requests and refusals |
| \`ce or cnp\` | congestion, and the reaction to it |
| \`out and len > 1000 and not ackreq\` | large outbound packets without AckReq |
| \`infiniband.reth.dmalen >= 1048576\` | messages of a megabyte and more |
`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(fileURLToPath(new URL('../../docs/filter.md', import.meta.url)), filterPage());
}
