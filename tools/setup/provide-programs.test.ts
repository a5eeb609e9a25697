import {
  chmodSync,
  existsSync,
  mkdirSync,
  statSync,
  utimesSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import { watch } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { pathInCache } from './cache-folder.mjs';
import { goPlatform } from './pinned-tools.mjs';
import { providePrograms } from './provide-programs.mjs';
import { natsServerTool, scriptPrinting, temporaryFolder, writeScript } from './test-programs.ts';

const tool = natsServerTool();

// The progress of builds that never were would only confuse whoever reads the test run.
beforeEach(() => {
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** A machine without network whose `go` is a script; what the script notes is in `log`. */
function machine(goScript?: (log: string) => string) {
  const folder = temporaryFolder();
  const log = join(folder, 'log');
  mkdirSync(log);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  if (goScript) writeScript(join(bin, 'go'), goScript(log));
  // `fetch` refuses port 1 by itself, so no test waits for a network.
  const env = { PATH: bin, [tool.release.baseUrlEnv]: 'http://127.0.0.1:1' };
  const place = { env, cache: join(folder, 'cache'), recordFile: join(folder, 'record.json') };
  return { place, log, binaries: () => readdirSync(join(place.cache, 'bin')).toSorted() };
}

/** Does what `go build -o FILE` does, for the arguments that set-up gives; and notes each call. */
const goThatBuilds = (log: string) => `#!/bin/sh
echo build >> "${log}/calls"
while [ "$1" != -o ]; do shift; done
echo '${scriptPrinting('2.15.2').trim()}' > "$2"
/bin/chmod 755 "$2"
`;

const goThatHangs = (log: string) => `#!/bin/sh
trap 'exit 130' INT
while [ "$1" != -o ]; do shift; done
echo half > "$2"
echo started > "${log}/started"
while :; do /bin/sleep 0.02; done
`;

test('what cannot be downloaded is built, and a second run looks at nothing', async () => {
  const { place, log, binaries } = machine(goThatBuilds);
  const record = await providePrograms([tool], place);
  expect(record['nats-server']).toMatchObject({ path: pathInCache(place.cache, tool), from: 'build' });
  expect(binaries()).toEqual(['nats-server-2.15.2']);
  await providePrograms([tool], { ...place, env: { ...place.env, PATH: '' } });
  expect(readFileSync(join(log, 'calls'), 'utf8')).toBe('build\n');
});

test('a program that changed since is looked at again', async () => {
  const { place, log } = machine(goThatBuilds);
  await providePrograms([tool], place);
  writeFileSync(pathInCache(place.cache, tool), 'broken');
  await providePrograms([tool], place);
  expect(readFileSync(join(log, 'calls'), 'utf8')).toBe('build\nbuild\n');
});

test('a program of the cache with other content is made again and said, also with the size and time of before', async () => {
  const { place, log } = machine(goThatBuilds);
  await providePrograms([tool], place);
  const path = pathInCache(place.cache, tool);
  const { atime, mtime } = statSync(path);
  const good = readFileSync(path, 'utf8');
  writeFileSync(path, good.replace('nats-server:', 'NATS-SERVER:'));
  utimesSync(path, atime, mtime);
  await providePrograms([tool], place);
  expect(readFileSync(path, 'utf8')).toBe(good);
  expect(readFileSync(join(log, 'calls'), 'utf8')).toBe('build\nbuild\n');
  const said = vi.mocked(process.stderr.write).mock.calls.map(([text]) => String(text));
  expect(said.join('')).toContain(`${path} is not what set-up put there`);
});

test('a program that was touched and is the same is kept', async () => {
  const { place, log } = machine(goThatBuilds);
  await providePrograms([tool], place);
  utimesSync(pathInCache(place.cache, tool), 1, 1);
  const record = await providePrograms([tool], place);
  expect(record['nats-server']?.from).toBe('cache');
  expect(readFileSync(join(log, 'calls'), 'utf8')).toBe('build\n');
});

test('nothing is taken from a cache that others may write to', async () => {
  const { place } = machine(goThatBuilds);
  await providePrograms([tool], place);
  chmodSync(join(place.cache, 'bin'), 0o777);
  await expect(providePrograms([tool], place)).rejects.toThrow(/others may write there.*ROLLCALL_CACHE/);
});

test('two at once build once', async () => {
  const { place, log, binaries } = machine(goThatBuilds);
  const second = { ...place, recordFile: `${place.recordFile}.second` };
  const records = await Promise.all([providePrograms([tool], place), providePrograms([tool], second)]);
  expect(records.map((record) => record['nats-server']?.from).toSorted()).toEqual(['build', 'cache']);
  expect(readFileSync(join(log, 'calls'), 'utf8')).toBe('build\n');
  expect(binaries()).toEqual(['nats-server-2.15.2']);
});

test('an interrupted build leaves nothing half made and no lock', async () => {
  const { place, log, binaries } = machine(goThatHangs);
  const interruption = new AbortController();
  const watching = watch(log, { signal: interruption.signal });
  const run = providePrograms([tool], { ...place, signal: interruption.signal });
  const outcome = run.catch((reason: unknown) => reason);
  for await (const { filename } of watching) if (filename === 'started') break;
  interruption.abort(new Error('stopped by a person'));
  expect(String(await outcome)).toContain('stopped by a person');
  expect(binaries()).toEqual([]);
  expect(readdirSync(join(place.cache, 'locks'))).toEqual([]);
  expect(existsSync(place.recordFile)).toBe(false);
});

test('what a killed set-up left is removed, what a running one makes is not', async () => {
  const { place, binaries } = machine(goThatBuilds);
  const ended = spawnSync('true').pid;
  const running = `.making-${process.pid}-other`;
  for (const name of [`.making-${ended}-abc`, running])
    mkdirSync(join(place.cache, 'bin', name), { recursive: true });
  await providePrograms([tool], place);
  expect(binaries()).toEqual([running, 'nats-server-2.15.2']);
});

test('when nothing works the error names every way and what to do', async () => {
  const { place } = machine();
  const error = await providePrograms([tool], place).catch((reason: unknown) => reason);
  expect(String(error)).toMatch(
    /ROLLCALL_NATS_SERVER: not set\n.*PATH: .*\n.*cache: .*\n.*no SHA-256 .*\n.*build: no `go` on PATH.*\n.*download: /,
  );
  expect(String(error)).toContain('What to do');
});

test('a release with a pinned SHA-256 is tried before a build, one without is the last way', async () => {
  const pins = { [`${goPlatform.os}-${goPlatform.arch}`]: '0'.repeat(64) };
  const { place } = machine();
  const digests = { 'nats-server': { version: tool.version, sha256: pins } };
  const pinned = await providePrograms([tool], { ...place, digests }).catch(String);
  expect(pinned).toMatch(/cache: .*\n.*download: http.*\n.*build: no `go`/);
  const unpinned = await providePrograms([tool], { ...place, digests: {} }).catch(String);
  expect(unpinned).toMatch(/build: no `go` .*\n.*download: no SHA-256 is pinned/);
});

test('what comes from PATH or a variable is said at each run, with path and version', async () => {
  const { place } = machine();
  const onPath = writeScript(join(place.env.PATH, 'nats-server'), scriptPrinting('2.16.0'));
  const written = vi.mocked(process.stderr.write);
  for (const run of ['first', 'second']) {
    written.mockClear();
    await providePrograms([tool], place);
    const said = written.mock.calls.map(([text]) => String(text)).join('');
    expect(said, run).toContain(`nats-server 2.16.0 is taken from PATH: ${onPath} (pinned is 2.15.2)`);
  }
  written.mockClear();
  await providePrograms([tool], { ...place, env: { ...place.env, ROLLCALL_NATS_SERVER: onPath } });
  expect(written.mock.calls.map(([text]) => String(text)).join('')).toContain(
    `nats-server 2.16.0 is taken from ROLLCALL_NATS_SERVER: ${onPath}`,
  );
});

test('what Go said stands in the error', async () => {
  const { place } = machine(() => '#!/bin/sh\necho "go: go.mod requires go >= 1.26.0" >&2\nexit 1\n');
  await expect(providePrograms([tool], place)).rejects.toThrow(
    /go build ended with 1:\n.*requires go >= 1\.26\.0/,
  );
});
