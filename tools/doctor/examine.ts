/** Examines this machine for `roce doctor`. Owns the shape of what is found. */
import { arch, availableParallelism, platform, release } from 'node:os';
import { type Crc32Name, installBulkCrc32, loadNativeCrc32, type Requirement } from 'rocev2/node';
import { type Survey, type SurveyedLink, surveyLinks } from '../links/survey.ts';
import { ABILITIES, type Ability } from './abilities.ts';

export interface FoundAbility {
  readonly title: string;
  readonly commands: readonly string[];
  readonly usable: boolean;
  /** What is missing; empty where it is usable. */
  readonly missing: readonly Requirement[];
}

export interface Examination extends Survey {
  readonly machine: {
    readonly node: string;
    /** 'linux x64 6.12.3'. */
    readonly system: string;
    readonly processors: number;
    /** What computes the ICRC of long packets; 'ISA-L' takes a third of the time of 'zlib'. */
    readonly crc32: Crc32Name;
  };
  readonly abilities: readonly FoundAbility[];
}

export async function examine(abilities: readonly Ability[] = ABILITIES, survey?: Survey): Promise<Examination> {
  const found = survey ?? (await surveyLinks());
  await loadNativeCrc32();
  return {
    machine: {
      node: process.version,
      system: `${platform()} ${arch()} ${release()}`,
      processors: availableParallelism(),
      crc32: installBulkCrc32(),
    },
    abilities: await Promise.all(abilities.map((ability) => examineAbility(ability, found.links))),
    ...found,
  };
}

async function examineAbility(
  { title, commands, needs }: Ability,
  links: readonly SurveyedLink[],
): Promise<FoundAbility> {
  const missing = (await needs(links)).filter(({ met }) => !met);
  return { title, commands, usable: missing.length === 0, missing };
}
