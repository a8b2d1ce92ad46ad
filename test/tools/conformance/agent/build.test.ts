// Goal: a machine that cannot build the agent says why. Method: a search path without a compiler.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { buildAgent } from '../../../../tools/conformance/agent/build.ts';

describe('buildAgent', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('says that there is no compiler, and which package has one', async () => {
    vi.stubEnv('PATH', '/nowhere');
    await expect(buildAgent()).rejects.toMatchObject({
      code: 'ERR_ROCE_LINK_UNAVAILABLE',
      message: expect.stringMatching(/no cc here \(Debian packages gcc/),
    });
  });
});
