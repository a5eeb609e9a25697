import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pathInCache } from './cache-folder.mjs';
import { findProgram } from './find-program.mjs';
import { natsServerTool, scriptPrinting, temporaryFolder, writeScript } from './test-programs.ts';

const tool = natsServerTool();

/** What lies where: versions of nats-server by place; a place without a version has none. */
function machineWith(versions: { environment?: string; path?: string; cache?: string }) {
  const folder = temporaryFolder();
  const cache = join(folder, 'cache');
  const bin = join(folder, 'bin');
  const explicit = join(folder, 'explicit', 'nats-server');
  const env: NodeJS.ProcessEnv = { PATH: bin };
  if (versions.path) writeScript(join(bin, 'nats-server'), scriptPrinting(versions.path));
  if (versions.cache) writeScript(pathInCache(cache, tool), scriptPrinting(versions.cache));
  if (versions.environment) env[tool.env] = writeScript(explicit, scriptPrinting(versions.environment));
  return { env, cache };
}

test.each([
  {
    name: 'the environment comes first',
    has: { environment: '2.15.2', path: '2.15.2', cache: '2.15.2' },
    want: 'environment',
  },
  { name: 'then PATH', has: { path: '2.15.3', cache: '2.15.2' }, want: 'PATH' },
  { name: 'a wrong version on PATH is passed by', has: { path: '2.10.0', cache: '2.15.2' }, want: 'cache' },
  { name: 'then the cache', has: { cache: '2.15.2' }, want: 'cache' },
  { name: 'a broken file in the cache is not taken', has: { cache: 'broken' }, want: undefined },
  { name: 'nothing anywhere', has: {}, want: undefined },
])('findProgram: $name → $want', async ({ has, want }) => {
  const result = await findProgram(tool, machineWith(has));
  expect(result.found?.from).toBe(want);
});

test('a wrong version in the environment is an error, although PATH has a right one', async () => {
  const machine = machineWith({ environment: '2.10.0', path: '2.15.2' });
  await expect(findProgram(tool, machine)).rejects.toThrow(
    /ROLLCALL_NATS_SERVER=".*": is 2\.10\.0, needed is >= 2\.15\.2 and < 3\.0\.0/,
  );
});

test('a missing file in the environment is an error', async () => {
  const { cache } = machineWith({});
  const env = { [tool.env]: join(cache, 'not-there') };
  await expect(findProgram(tool, { env, cache })).rejects.toThrow(/there is no such file/);
});

test('every way that failed is named with its reason', async () => {
  const result = await findProgram(tool, machineWith({ path: '2.10.0' }));
  expect(result).toMatchObject({
    found: undefined,
    tried: [
      expect.stringMatching(/^ROLLCALL_NATS_SERVER: not set$/),
      expect.stringMatching(/^PATH: .*: is 2\.10\.0, needed is/),
      expect.stringMatching(/^cache: no /),
    ],
  });
});
