/**
 * The tests of another Debian than this machine's: its packages in a directory that is the root of the file system for
 * them alone, in a mount namespace of their own. Owns what they need of the machine in there. Needs root.
 */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { unpackUserland } from '../../lab/image.ts';
import { pythonOf, type Userland } from '../../lab/recipe.ts';
import { RUNNER, TEST_SECONDS, TESTS, unpackTests } from './suite.ts';

/** Fills `directory`, which is empty, and says what `roce run` is to be given. Rejects as `buildImage` does. */
export async function ownRootArguments(
  userland: Userland,
  directory: string,
  patterns: readonly string[],
): Promise<string[]> {
  await unpackUserland(userland, directory);
  unpackTests(join(directory, 'suite'), join(directory, TESTS));
  copyFileSync(RUNNER, join(directory, 'suite/run-tests.py'));
  const command = [`/usr/bin/${pythonOf(userland)}`, '/suite/run-tests.py', '/suite/tests', String(TEST_SECONDS), 'lo'];
  return ['run', '--', 'unshare', '--mount', 'sh', '-c', ENTER, 'sh', directory, ...command, ...patterns];
}

/** The shim, the server's socket and its rings, by its place in /proc, are where they are outside. */
const ENTER = `set -e
root=$1
shift
mount --make-rprivate /
for place in /proc /dev "$(dirname "\${LD_PRELOAD%%:*}")" "$(dirname "$ROCE_UVERBS")"; do
  mkdir -p "$root$place"
  mount --rbind "$place" "$root$place"
done
exec chroot "$root" "$@"`;
