/**
 * In which order the files of tests begin. Without a memory of earlier runs vitest goes by their size, and what takes
 * longest may be a file of two lines.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Parts of the paths of the longest, the longest first: begun last, they would leave all but one processor idle. */
const LONGEST = [
  'conformance/page/page.long',
  'fuzz/uverbs.long',
  'duts/limited.long',
  'mutants/mutants.long',
  'simulation/truth.long',
  'sim/scenarios.long',
  'uverbs-programs.long',
  'interop/nvme-fio',
  'interop/matrix',
  'conformance/findings/findings.long',
  'properties/properties-live.long',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => placeOf(a) - placeOf(b));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONGEST.findIndex((part) => moduleId.includes(part));
  return place < 0 ? LONGEST.length : place;
}
