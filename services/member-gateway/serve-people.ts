import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { RollcallError } from '@rollcall/shared/errors';
import { type Logger, servingCertificate } from '@rollcall/shared/service';
import { apiDocument, memberPath } from './api-documents.ts';
import { carryRequest, carryUpgrade, streamRequestOf } from './carry-request.ts';
import type { GatewayConfig } from './config.ts';
import { type FrontProxyWatch, type Person, personOf } from './front-proxy.ts';
import type { Members } from './follow-members.ts';
import { judgeRequest } from './judge-request.ts';
import { answerStatus, answerStatusOn, type Refusal } from './status-answer.ts';
import type { Streams } from './open-streams.ts';

const unknownCaller: Refusal = {
  code: 401,
  message: "only the hub's API server is answered here: use its address, with proxy.rollcall.dev in the path",
};
const notPassedOn: Refusal = {
  code: 400,
  message:
    'the path, the headers and the groups of the request are too long together, or its method is none of an API',
};

/** An API server keeps its idle connections for 90 s: it must never use one that is just being closed. */
const idleConnectionMs = 120_000;
/** More than goes to an agent, so that what is too long is refused with words and not by a connection that breaks. */
const mostHeaderBytes = 131_072;
type Asked =
  | { readonly refusal: Refusal }
  | { readonly document: object }
  | { readonly name: string; readonly path: string; readonly person: Person; readonly clusterId: string };

/**
 * Serves the aggregated API to the hub's API server.
 * @throws RollcallError PORT_BUSY, CONFIG_INVALID
 */
export async function servePeople(
  config: GatewayConfig,
  {
    frontProxy,
    members,
    streams,
    logger,
  }: { frontProxy: () => FrontProxyWatch | undefined; members: Members; streams: Streams; logger: Logger },
): Promise<{ trust(caPem: string): void; stop(): Promise<void> }> {
  const { streamsPerPerson: ofPerson, streamsPerCluster: toMember, streamsInAll: inAll } = config;

  /** Each request anew: a connection that was let in says nothing of what comes over it later. */
  function judge(request: IncomingMessage): Asked {
    const proxy = frontProxy()?.now();
    const person = proxy && personOf(request, proxy.names);
    if (!person) return { refusal: unknownCaller };
    const { url = '' } = request;
    const document = apiDocument(url.split('?')[0] ?? '');
    if (document) return { document };
    const asked = memberPath(url);
    if (!asked)
      return { refusal: { code: 404, message: 'there is nothing here but managedclusters/NAME/proxy' } };
    const member = members.of(asked.name);
    const clusterId = member?.clusterId ?? '';
    const open = streams.count({ clusterId, person: person.user });
    const limits = { ofPerson, toMember, inAll };
    const refusal = judgeRequest({ ...asked, member, hasBus: streams.isConnected(), open, limits });
    return refusal ? { refusal } : { ...asked, person, clusterId };
  }

  using starting = new DisposableStack();
  let trusted: string | undefined;
  const { servingCertFile: certFile, servingKeyFile: keyFile } = config;
  const certificate = starting.use(
    servingCertificate(
      { certFile, keyFile },
      { show: (pair) => server.setSecureContext({ ...pair, ca: trusted ?? [] }), logger },
    ),
  );
  const server = createServer({
    ...certificate.now(),
    // Nobody's, until it is known whose; without it Node would take any that the world trusts.
    ca: [],
    requestCert: true,
    // Judged for each request, so that who is refused is told why.
    rejectUnauthorized: false,
    maxHeaderSize: mostHeaderBytes,
  });
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  server.requestTimeout = 0;
  server.keepAliveTimeout = idleConnectionMs;
  server.on('request', (request, response) => {
    const asked = judge(request);
    if ('refusal' in asked) {
      answerStatus(response, asked.refusal, request.url);
      return;
    }
    if ('document' in asked) {
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify(asked.document));
      return;
    }
    const wanted = streamRequestOf(request, asked.path);
    const stream = streams.open(
      { clusterId: asked.clusterId, person: asked.person.user },
      { ...wanted, ...asked.person },
    );
    if (stream === undefined) answerStatus(response, notPassedOn, request.url);
    else void carryRequest(stream, request, response, wanted.hasBody);
  });
  server.on('upgrade', (request, socket, begun) => {
    const asked = judge(request);
    if ('refusal' in asked || 'document' in asked) {
      const refusal = 'refusal' in asked ? asked.refusal : unknownCaller;
      answerStatusOn(socket, refusal);
      return;
    }
    const upgrade = request.headers.upgrade ?? '';
    const wanted = { ...streamRequestOf(request, asked.path), hasBody: true, upgrade };
    const stream = streams.open(
      { clusterId: asked.clusterId, person: asked.person.user },
      { ...wanted, ...asked.person },
    );
    if (stream === undefined) answerStatusOn(socket, notPassedOn);
    else void carryUpgrade(stream, { socket, begun, upgrade });
  });
  const { servingAddress: host, servingPort: port } = config;
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new RollcallError('PORT_BUSY', `port ${port} of the member gateway is taken`, { cause });
  }
  const running = starting.move();
  return {
    trust(caPem) {
      if (caPem === trusted) return;
      trusted = caPem;
      server.setSecureContext({ ...certificate.now(), ca: caPem });
      // Whom another CA has let in comes anew, also who was about to.
      for (const socket of connections) socket.destroy();
    },
    async stop() {
      running.dispose();
      server.close();
      server.closeAllConnections();
    },
  };
}
