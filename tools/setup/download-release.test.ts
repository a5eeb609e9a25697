import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checksumFor, downloadRelease, releaseBase } from './download-release.mjs';
import { versionOf } from './find-program.mjs';
import { goPlatform, pinnedTools, testTools } from './pinned-tools.mjs';
import { natsServerTool, scriptPrinting, temporaryFolder, writeScript } from './test-programs.ts';

const tool = natsServerTool();
const asset = `nats-server-v${tool.version}-${goPlatform.os}-${goPlatform.arch}`;

/** Serves files by path, as a release host would. */
async function releaseHost(files: Record<string, string | Buffer>): Promise<string> {
  const server = createServer((request, response) => {
    const file = files[request.url ?? ''];
    response.statusCode = file === undefined ? 404 : 200;
    response.end(file);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return urlOf(server);
}

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}`;
}

function archiveOf(version: string): Buffer {
  const folder = temporaryFolder();
  writeScript(join(folder, asset, 'nats-server'), scriptPrinting(version));
  execFileSync('tar', ['-czf', `${asset}.tar.gz`, asset], { cwd: folder });
  return readFileSync(join(folder, `${asset}.tar.gz`));
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
/** From the project's own place, as it were: it has no pin, so only the checksum beside the file is there. */
const download = (which: typeof tool, baseUrl: string, folder: string) =>
  downloadRelease({ ...which, release: { ...which.release, baseUrl } }, folder, {
    env: {},
    digests: {},
    onProgress: () => {},
  });

/** From a mirror, with a pinned SHA-256 or none. */
const downloadFromMirror = (mirror: string, folder: string, pinned?: string) => {
  const pins = pinned === undefined ? {} : { [`${goPlatform.os}-${goPlatform.arch}`]: pinned };
  const digests = { 'nats-server': { version: tool.version, sha256: pins } };
  return downloadRelease(tool, folder, {
    env: { [tool.release.baseUrlEnv]: mirror },
    digests,
    onProgress: () => {},
  });
};

/** A mirror whose checksum fits to what it serves. */
async function mirrorOf(archive: Buffer): Promise<string> {
  return releaseHost({
    [`/v2.15.2/${asset}.tar.gz`]: archive,
    '/v2.15.2/SHA256SUMS': `${sha256(archive)}  ${asset}.tar.gz\n`,
  });
}

test('a mirror that changed the file together with its checksum is refused: the pin decides', async () => {
  const folder = temporaryFolder();
  const mirror = await mirrorOf(archiveOf('2.15.2'));
  await expect(downloadFromMirror(mirror, folder, sha256('as released'))).rejects.toMatchObject({
    name: 'SetupError',
    message: expect.stringContaining(`has ${sha256('as released')} (tools/setup/release-digests.json)`),
  });
  expect(existsSync(join(folder, 'nats-server'))).toBe(false);
});

test('a mirror that serves the pinned file needs no checksum beside it', async () => {
  const archive = archiveOf('2.15.2');
  const mirror = await releaseHost({ [`/v2.15.2/${asset}.tar.gz`]: archive });
  const folder = temporaryFolder();
  await downloadFromMirror(mirror, folder, sha256(archive));
  expect(await versionOf(tool, join(folder, 'nats-server'))).toBe('2.15.2');
});

test('what has no pin is not taken from a mirror', async () => {
  const mirror = await mirrorOf(archiveOf('2.15.2'));
  await expect(downloadFromMirror(mirror, temporaryFolder())).rejects.toThrow(
    /no SHA-256 is pinned for .* not taken from ROLLCALL_NATS_SERVER_RELEASES/,
  );
});

test('an archive with the published checksum is unpacked and runs', async () => {
  const archive = archiveOf('2.15.2');
  const host = await releaseHost({
    [`/v2.15.2/${asset}.tar.gz`]: archive,
    '/v2.15.2/SHA256SUMS': `${sha256('other')}  other.tar.gz\n${sha256(archive)}  ${asset}.tar.gz\n`,
  });
  const folder = temporaryFolder();
  await download(tool, host, folder);
  expect(await versionOf(tool, join(folder, 'nats-server'))).toBe('2.15.2');
});

test('an archive with another checksum is refused', async () => {
  const host = await releaseHost({
    [`/v2.15.2/${asset}.tar.gz`]: archiveOf('2.15.2'),
    '/v2.15.2/SHA256SUMS': `${sha256('as published')}  ${asset}.tar.gz\n`,
  });
  await expect(download(tool, host, temporaryFolder())).rejects.toThrow(
    new RegExp(`has SHA-256 [0-9a-f]{64}, published is ${sha256('as published')}`),
  );
});

test('a release without a checksum is refused before it is downloaded', async () => {
  const host = await releaseHost({ '/v2.15.2/SHA256SUMS': '' });
  await expect(download(tool, host, temporaryFolder())).rejects.toThrow(/holds no SHA-256 for/);
});

test('a bare binary is checked against the .sha256 beside it', async () => {
  const kubectl = pinnedTools.find(({ name }) => name === 'kubectl');
  if (kubectl === undefined) throw new Error('kubectl is not pinned');
  const binary = '#!/bin/sh\necho "Client Version: v1.36.3"\n';
  const path = `/v1.36.3/bin/${goPlatform.os}/${goPlatform.arch}/kubectl`;
  const host = await releaseHost({ [path]: binary, [`${path}.sha256`]: sha256(binary) });
  const folder = temporaryFolder();
  await download(kubectl, host, folder);
  expect(await versionOf(kubectl, join(folder, 'kubectl'))).toBe('1.36.3');
});

test('an archive is checked against the .sha256sum beside it', async () => {
  const [helm] = testTools;
  if (helm === undefined) throw new Error('helm is not pinned');
  const { os, arch } = goPlatform;
  const folder = temporaryFolder();
  writeScript(join(folder, `${os}-${arch}`, 'helm'), '#!/bin/sh\necho "v4.3.1+g0"\n');
  execFileSync('tar', ['-czf', join(folder, 'helm.tar.gz'), '-C', folder, `${os}-${arch}`]);
  const archive = readFileSync(join(folder, 'helm.tar.gz'));
  const name = `helm-v4.3.1-${os}-${arch}.tar.gz`;
  const host = await releaseHost({
    [`/${name}`]: archive,
    [`/${name}.sha256sum`]: `${sha256(archive)}  ${name}\n`,
  });
  const unpacked = temporaryFolder();
  await download(helm, host, unpacked);
  expect(await versionOf(helm, join(unpacked, 'helm'))).toBe('4.3.1');
});

test('a missing release and a host that is away are named', async () => {
  const host = await releaseHost({});
  await expect(download(tool, host, temporaryFolder())).rejects.toThrow(/SHA256SUMS: status 404/);
  const away = createServer().listen(0, '127.0.0.1');
  await once(away, 'listening');
  const url = urlOf(away);
  away.close();
  await once(away, 'close');
  await expect(download(tool, url, temporaryFolder())).rejects.toThrow(
    /SHA256SUMS: fetch failed: .*ECONNREFUSED/,
  );
});

test.each([
  { name: 'no mirror', mirror: undefined, want: tool.release.baseUrl },
  { name: 'one with TLS', mirror: 'https://mirror.test/nats/', want: 'https://mirror.test/nats' },
  { name: 'one on this machine', mirror: 'http://127.0.0.1:8080', want: 'http://127.0.0.1:8080' },
  { name: 'one on this machine by name', mirror: 'http://localhost/n', want: 'http://localhost/n' },
  { name: 'one on this machine, IPv6', mirror: 'http://[::1]:80/n', want: 'http://[::1]:80/n' },
])('releases lie at $name: $want', ({ mirror, want }) => {
  expect(releaseBase(tool, { [tool.release.baseUrlEnv]: mirror })).toBe(want);
});

test.each([
  'http://mirror.test/nats',
  'http://127.0.0.1.mirror.test',
  'http://10.0.0.1:8080',
  'ftp://mirror.test',
  'mirror.test/nats',
])('mirror %s is refused before anything is asked of it, with what to do', async (mirror) => {
  await expect(downloadFromMirror(mirror, temporaryFolder())).rejects.toMatchObject({
    name: 'SetupError',
    message: expect.stringMatching(/^ROLLCALL_NATS_SERVER_RELEASES names .*into ROLLCALL_NATS_SERVER\.$/s),
  });
});

test('a mirror that leads on to a place without TLS is refused', async () => {
  const target = await releaseHost({ '/v2.15.2/SHA256SUMS': '' });
  // It is this machine all the same, so that there is an answer; only not by a name of loopback.
  const elsewhere = target.replace('127.0.0.1', '0.0.0.0');
  const server = createServer((request, response) => {
    response.writeHead(302, { location: `${elsewhere}${request.url}` }).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  await expect(download(tool, urlOf(server), temporaryFolder())).rejects.toThrow(
    `SHA256SUMS: leads to ${elsewhere}, without TLS`,
  );
});

test('a checksum is found by name, never taken from another file', () => {
  const [ours, theirs] = [sha256('ours'), sha256('theirs')];
  expect(checksumFor(`${theirs}  b.zip\n${ours} *a.zip\n`, 'a.zip')).toBe(ours);
  expect(checksumFor(`${theirs}  b.zip\n`, 'a.zip')).toBeUndefined();
  expect(checksumFor(`${ours.toUpperCase()}\n`, 'a')).toBe(ours);
});
