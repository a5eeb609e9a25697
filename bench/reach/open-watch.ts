import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeAccess } from '@rollcall/shared/kubernetes';

/** Opens one watch on a connection of its own. Resolves when it is answered. @returns what ends it */
export async function openWatch(
  access: KubeAccess,
  path: string,
  onData: (text: string) => void = () => undefined,
): Promise<() => void> {
  const { hostname, port } = new URL(access.server);
  const agent = new Agent({ ca: access.caPem, cert: access.certPem, key: access.keyPem });
  const request = httpsRequest({ agent, hostname, port, path }).end();
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  if (answer.statusCode !== 200)
    throw new RollcallError('UNEXPECTED', `a watch of ${path} was answered with ${answer.statusCode}`);
  answer.setEncoding('utf8').on('data', onData);
  answer.on('error', () => undefined);
  return () => request.destroy();
}
