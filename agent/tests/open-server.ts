import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findBinary } from '../../cli/up/binaries.ts';

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** A nats-server that shows this chain, TLS from the first byte. It lets everybody in: who it is, is what is tested. */
export async function startOpenServer(
  chain: { certificatePem: string; privateKeyPem: string },
  shownCa: string,
) {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-tls-'));
  const port = await freePort();
  writeFileSync(join(directory, 'server.pem'), chain.certificatePem + shownCa);
  writeFileSync(join(directory, 'server.key'), chain.privateKeyPem, { mode: 0o600 });
  const config = `listen: "127.0.0.1:${port}"
tls { cert_file: "${directory}/server.pem", key_file: "${directory}/server.key", handshake_first: true }
`;
  writeFileSync(join(directory, 'nats.conf'), config);
  const server: ChildProcess = spawn(findBinary('nats-server'), ['-c', join(directory, 'nats.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = new Promise((resolve) => server.once('exit', resolve));
  const ready = Promise.withResolvers<void>();
  if (server.stderr)
    createInterface(server.stderr).on(
      'line',
      (line) => void (line.includes('Server is ready') && ready.resolve()),
    );
  await Promise.race([ready.promise, exited.then(() => Promise.reject(new Error('nats-server ended')))]);
  return {
    address: { host: '127.0.0.1', port },
    /** As a machine without power to whoever is connected: nothing answers, and nothing breaks. */
    pause: () => server.kill('SIGSTOP'),
    async [Symbol.asyncDispose]() {
      server.kill('SIGKILL');
      await exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
