import { Agent, request as httpsRequest } from 'node:https';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import type { ReplayRequest } from './replay-plan.ts';

/** Nothing but HTTPS: no retries, nothing decoded. What an API server can take from one process, at most. */
export interface BareClient {
  /** @returns the status, once the answer is read to its end */
  send(request: Omit<ReplayRequest, 'user'>): Promise<number>;
  close(): void;
}

export function bareClient(
  access: KubeAccess,
  connections: number,
  asked: Readonly<Record<string, string>> = {},
): BareClient {
  const { hostname, port } = new URL(access.server);
  const agent = new Agent({
    ca: access.caPem,
    cert: access.certPem,
    key: access.keyPem,
    keepAlive: true,
    maxSockets: connections,
    maxFreeSockets: connections,
  });
  return {
    send({ method, path, body, contentType }) {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const headers =
        body === undefined
          ? asked
          : { ...asked, 'content-type': contentType, 'content-length': Buffer.byteLength(body) };
      const request = httpsRequest({ agent, hostname, port, method, path, headers }, (answer) => {
        answer.on('error', reject);
        answer.on('end', () => resolve(answer.statusCode ?? 0));
        answer.resume();
      });
      request.on('error', reject);
      request.end(body);
      return promise;
    },
    close: () => agent.destroy(),
  };
}
