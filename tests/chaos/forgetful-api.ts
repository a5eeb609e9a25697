import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { KubeAccess } from '@rollcall/shared/kubernetes';

/** Stands before the API server for one user of it, and can lose what it says: the write is done, and its writer never hears so. */
export interface ForgetfulApi extends AsyncDisposable {
  /** The user's own, over it. */
  readonly access: KubeAccess;
  forget(doesForget: boolean): void;
  /** Writes that were done and whose answers were lost. */
  forgotten(): number;
}

/** @param pki - where the API server's own certificate is, which holds for the whole loopback address */
export async function openForgetfulApi(upstream: KubeAccess, pki: string): Promise<ForgetfulApi> {
  let doesForget = false;
  let forgotten = 0;
  const { hostname, port } = new URL(upstream.server);
  const server = createServer(
    { cert: readFileSync(join(pki, 'apiserver.crt')), key: readFileSync(join(pki, 'apiserver.key')) },
    (asked, answer) => {
      const isWrite = asked.method !== 'GET';
      const passed = request(
        {
          host: hostname,
          port,
          method: asked.method,
          path: asked.url,
          headers: asked.headers,
          ca: upstream.caPem,
          cert: upstream.certPem,
          key: upstream.keyPem,
        },
        (answered) => {
          const { statusCode = 502, headers } = answered;
          if (doesForget && isWrite && statusCode < 300) {
            forgotten++;
            answer.destroy();
            return;
          }
          answer.writeHead(statusCode, headers);
          // A watch may have nothing to say for minutes.
          answer.flushHeaders();
          answered.on('error', () => answer.destroy());
          answered.pipe(answer);
        },
      );
      // Either side that ends ends the other: watches last for as long as both want.
      passed.on('error', () => answer.destroy());
      answer.on('close', () => passed.destroy());
      asked.pipe(passed);
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    access: { ...upstream, server: `https://127.0.0.1:${(server.address() as AddressInfo).port}` },
    forget(does) {
      doesForget = does;
    },
    forgotten: () => forgotten,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
