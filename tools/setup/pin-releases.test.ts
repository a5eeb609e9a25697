import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { pinnedTools, testTools } from './pinned-tools.mjs';
import { publishedDigests } from './pin-releases.mjs';
import { changedPins, readDigests } from './release-digests.mjs';

const tools = [...pinnedTools, ...testTools];
const hex = (digit: string): string => digit.repeat(64);

/** Publishes checksums as the projects do: for Linux on amd64 only. */
async function releaseHost(): Promise<NodeJS.ProcessEnv> {
  const server = createServer(({ url = '' }, response) => {
    const isSums = url.endsWith('/SHA256SUMS');
    const isOne = /linux.amd64.*\.sha256(sum)?$/.test(url);
    response.statusCode = isSums || isOne ? 200 : 404;
    const sums = `${hex('a')}  nats-server-v2.15.2-linux-amd64.tar.gz\n${hex('b')}  etcd-v3.6.16-linux-amd64.tar.gz\n`;
    response.end(isSums ? sums : hex('c'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return Object.fromEntries(
    tools.map(({ release }) => [release.baseUrlEnv, `http://127.0.0.1:${address.port}`]),
  );
}

test('one command pins the published SHA-256 of every pinned version, where there is a release', async () => {
  const digests = await publishedDigests(tools, await releaseHost());
  expect(Object.keys(digests)).toEqual(tools.map(({ name }) => name));
  expect(digests['nats-server']).toEqual({ version: '2.15.2', sha256: { 'linux-amd64': hex('a') } });
  expect(digests.etcd).toEqual({ version: '3.6.16', sha256: { 'linux-amd64': hex('b') } });
  expect(digests.kubectl).toEqual({ version: '1.36.3', sha256: { 'linux-amd64': hex('c') } });
});

test('the pins of the repository are of the pinned versions, none is stale', () => {
  const digests = readDigests();
  const pinned = Object.entries(digests).map(([name, { version }]) => ({ name, version }));
  expect(pinned).toEqual(tools.map(({ name, version }) => ({ name, version })));
});

test('the README says which releases are pinned, and those are', () => {
  const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8');
  const rows = [...readme.matchAll(/^\| pinned: `([^`]+)` \| ([^|]*?) *\|$/gm)];
  const said = rows.map(([, name = '', platforms = '']) => [
    name,
    platforms === 'none' ? [] : platforms.split(', ').toSorted(),
  ]);
  const pinned = Object.entries(readDigests()).map(([name, { sha256 }]) => [
    name,
    Object.keys(sha256).toSorted(),
  ]);
  expect(said).toEqual(pinned);
  expect(pinned.flatMap(([, platforms]) => platforms).length).toBeGreaterThan(0);
});

const pins = (sha256: unknown) => ({ kubectl: { version: '1.36.3', sha256 } });
test.each([
  { name: 'nothing', list: {}, want: 'is empty' },
  { name: 'no object', list: [], want: 'is no list' },
  { name: 'a program without pins', list: { kubectl: { version: '1.36.3' } }, want: 'no pins of kubectl' },
  { name: 'no platform', list: pins({ linux_amd64: hex('a') }), want: '"linux_amd64", which is no platform' },
  { name: 'capitals', list: pins({ 'linux-amd64': hex('A') }), want: 'no SHA-256' },
  { name: 'a digest cut short', list: pins({ 'linux-amd64': 'abc' }), want: 'no SHA-256' },
  { name: 'no digest', list: pins({ 'linux-amd64': null }), want: 'no SHA-256' },
])('a list with $name is refused by set-up, and is not a list without pins', ({ list, want }) => {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-pins-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'digests.json');
  writeFileSync(file, JSON.stringify(list));
  expect(() => readDigests(file)).toThrow(want);
  writeFileSync(file, '{');
  expect(() => readDigests(file)).toThrow('cannot be read');
});

test('what is published otherwise than pinned is told; another version and a new platform are not', () => {
  const before = pins({ 'linux-amd64': hex('a'), 'linux-arm64': hex('b') });
  const now = pins({ 'linux-amd64': hex('a'), 'linux-arm64': hex('c'), 'darwin-arm64': hex('d') });
  expect(changedPins(before as never, now as never)).toEqual(['kubectl 1.36.3 linux-arm64']);
  expect(changedPins(before as never, pins({ 'linux-amd64': hex('a') }) as never)).toEqual([
    'kubectl 1.36.3 linux-arm64',
  ]);
  const next = { kubectl: { version: '1.36.4', sha256: { 'linux-amd64': hex('e') } } };
  expect(changedPins(before as never, next)).toEqual([]);
});
