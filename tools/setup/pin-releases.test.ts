import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { pinnedTools, testTools } from './pinned-tools.mjs';
import { publishedDigests } from './pin-releases.mjs';
import { readDigests } from './release-digests.mjs';

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
  const odd = Object.values(digests).flatMap(({ sha256 }) =>
    Object.entries(sha256).filter(
      ([platform, digest]) =>
        !/^(linux|darwin|windows)-(amd64|arm64)$/.test(platform) || !/^[0-9a-f]{64}$/.test(digest),
    ),
  );
  expect(odd).toEqual([]);
});
