/**
 * What can be done with this package, and what each of it needs of the machine. Owns that list, as data; looks at the
 * machine only when asked, and leaves nothing there.
 */
import { type Requirement, uverbsRequirements } from 'rocev2/node';
import { labAvailable } from '../lab/probe.ts';
import { findTool } from '../lab/tool.ts';
import type { SurveyedLink } from '../links/survey.ts';
import { netnsAvailable } from '../netns.ts';
import { findCompiler, hasRxeProvider } from '../uverbs/machine.ts';

export interface Ability {
  /** In the words of a person: 'programs for libibverbs, unmodified'. */
  readonly title: string;
  /** The commands for it, as typed. */
  readonly commands: readonly string[];
  /** What it needs beside Node; `links` is the survey of this machine. */
  readonly needs: (links: readonly SurveyedLink[]) => readonly Requirement[] | Promise<readonly Requirement[]>;
}

export const ABILITIES: readonly Ability[] = [
  {
    title: 'read captures: print, judge, show, export',
    commands: ['roce dump', 'roce analyze', 'roce view', 'roce export'],
    needs: () => [],
  },
  {
    title: 'devices and networks in simulated time',
    commands: ['roce demo', 'roce sim'],
    needs: () => [],
  },
  {
    title: "hold captures against Wireshark's dissection",
    commands: ['roce verify'],
    needs: () => [has('tshark', 'tshark')],
  },
  {
    title: 'a device on a network',
    commands: ['roce rping', 'roce perf', 'roce nvme', 'roce bump'],
    needs: (links) => [need('a link to a network', links.some(isNetwork), 'what each link lacks stands below')],
  },
  {
    title: 'programs for libibverbs, unmodified',
    commands: ['roce run', 'roce uverbs'],
    needs: async () => [
      ...(await uverbsRequirements()),
      need('a C compiler', findCompiler() !== undefined, 'apt install gcc libc6-dev'),
      need("libibverbs' provider for rxe", hasRxeProvider(), 'apt install ibverbs-providers'),
      has('ibv_devinfo', 'ibverbs-utils'),
    ],
  },
  {
    title: 'guests with rdma_rxe',
    commands: ['roce lab', 'npm run interop'],
    needs: () => [asFound(labAvailable())],
  },
  {
    title: 'hosts in network namespaces',
    commands: ['roce experiment', 'npm run bench -- --links'],
    needs: () => {
      const ip = has('ip', 'iproute2');
      return [ip.met ? asFound(netnsAvailable()) : ip];
    },
  },
];

/** One that reaches beyond this process and the guests of this machine. */
function isNetwork({ name, usable }: SurveyedLink): boolean {
  return usable && !['in-process', 'loopback', 'qemu'].includes(name);
}

/** A program in PATH, and the Debian package that has it. */
function has(program: string, debianPackage: string): Requirement {
  return need(program, findTool(program) !== undefined, `apt install ${debianPackage}`);
}

function need(what: string, met: boolean, remedy: string): Requirement {
  return { what, met, remedy: met ? '' : remedy };
}

/** Where the reason says both, what is missing and how to get it. */
function asFound(found: { readonly ok: boolean; readonly reason?: string }): Requirement {
  return { what: found.ok ? '' : (found.reason ?? ''), met: found.ok, remedy: '' };
}
