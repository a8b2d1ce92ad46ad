/** The versions that docs/interop.md is true of, besides those of the kernels. */
import { tshark } from '../experiment/judge.ts';
import { userlandPackages } from '../lab/image.ts';
import { packageVersion } from '../package-version.ts';

export async function interopVersions(): Promise<Record<string, string>> {
  const packages = await userlandPackages();
  return {
    rocev2: packageVersion(),
    'rdmacm-utils, ibverbs-utils (Debian)': packages['rdmacm-utils'] ?? 'unknown',
    'perftest (Debian)': packages['perftest'] ?? 'unknown',
    tshark: /\d+\.\d+\.\d+/.exec(tshark().version)?.[0] ?? 'unknown',
  };
}
