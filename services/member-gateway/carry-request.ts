import { once } from 'node:events';
import {
  type IncomingMessage,
  type ServerResponse,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  headerPairs,
  joinSocket,
  passedBack,
  passedToMember,
  readStreamResponse,
  type StreamRequest,
  type StreamResponse,
  type TunnelStream,
} from '@rollcall/shared/tunnel';
import { agentRefusal } from './agent-refusal.ts';
import { answerStatus, answerStatusOn, type Refusal } from './status-answer.ts';

/** Of a request, all that goes to the agent, but who asks. */
export function streamRequestOf(
  request: IncomingMessage,
  path: string,
): Omit<StreamRequest, 'version' | 'gateway' | 'stream' | 'user' | 'groups'> {
  const { method = 'GET', headers, rawHeaders } = request;
  return {
    method,
    path,
    headers: passedToMember(headerPairs(rawHeaders)),
    hasBody: headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0,
  };
}

/** What the other end said first: the head of its answer, or nothing that can be one. */
async function headOf(stream: TunnelStream): Promise<StreamResponse | undefined> {
  const [data] = (await once(stream, 'head')) as [Uint8Array];
  return readStreamResponse(data);
}

function asRefusal(thrown: unknown): Refusal {
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return { code: 504, message: `the request did not get through to the member: ${why}` };
}

/** What ends with its head: the API server asks the next thing on the same connection, whatever the agent does. */
const isBodyless = (method: string | undefined, status: number): boolean =>
  method === 'HEAD' || status === 204 || status === 304;

/**
 * As Node checks it where it writes a head itself: a character beyond one byte would be cut to the byte of a line break.
 * @throws TypeError for what is no header
 */
function headerLine([name, value]: readonly [string, string]): string {
  validateHeaderName(name);
  validateHeaderValue(name, value);
  return `${name}: ${value}`;
}

const garbled: Refusal = { code: 502, message: 'the agent of the member answered what is no answer' };

/** Carries a request and its body to the member and the answer back; whoever goes away first ends it for both. Never rejects. */
export async function carryRequest(
  stream: TunnelStream,
  request: IncomingMessage,
  response: ServerResponse,
  hasBody: boolean,
): Promise<void> {
  response.once('close', () => {
    if (!response.writableFinished) stream.destroy(new Error('the client went away'));
  });
  if (hasBody) request.pipe(stream);
  try {
    const head = await headOf(stream);
    if (head === undefined || 'refused' in head) {
      stream.destroy();
      const refusal = head === undefined ? garbled : agentRefusal(head);
      answerStatus(response, refusal, request.url);
      return;
    }
    if (head.status < 200)
      throw new Error(`the member answered ${head.status} to a request that asked for no upgrade`);
    const headers = passedBack(head.headers).flat();
    const isWithoutBody = isBodyless(request.method, head.status);
    const whole = isWithoutBody ? undefined : stream.takeAll();
    if (isWithoutBody || whole !== undefined) {
      const length = whole === undefined ? [] : ['Content-Length', String(whole.length)];
      // Until the client has it, it counts: as a stream, and by its bytes.
      stream.once('close', () => void (response.writableFinished || response.destroy()));
      response
        .writeHead(head.status, head.message, [...headers, ...length])
        .end(whole, () => void stream.destroy());
      return;
    }
    response.writeHead(head.status, head.message, headers);
    response.flushHeaders();
    await pipeline(stream, response);
    // The member has answered without reading all of it.
    request.unpipe(stream);
    if (!stream.writableFinished) stream.destroy();
  } catch (thrown) {
    stream.destroy();
    if (!response.destroyed) answerStatus(response, asRefusal(thrown), request.url);
  } finally {
    // The rest of an upload would stand before the next request on this connection.
    request.unpipe(stream);
    request.resume();
  }
}

/**
 * Tells when the other side of a connection ends it, although nobody reads it yet; what it says before is left for who will.
 * @returns no longer tells
 */
function onceEnded(socket: Duplex, ended: () => void): () => void {
  const look = () => void socket.read(0);
  socket.on('readable', look).once('end', ended);
  return () => void socket.off('readable', look).off('end', ended);
}

/** The same for a request that becomes raw bytes: exec, attach, port-forward, watches over WebSocket. Never rejects. */
export async function carryUpgrade(
  stream: TunnelStream,
  { socket, begun, upgrade }: { readonly socket: Duplex; readonly begun: Buffer; readonly upgrade: string },
): Promise<void> {
  const goneAway = () => void stream.destroy(new Error('the client went away'));
  socket.on('error', () => undefined).once('close', goneAway);
  const stopLooking = onceEnded(socket, goneAway);
  try {
    const head = await headOf(stream);
    if (head === undefined || 'refused' in head) {
      stream.destroy();
      answerStatusOn(socket, head === undefined ? garbled : agentRefusal(head));
      return;
    }
    const isUpgraded = head.status === 101;
    const hop = isUpgraded ? ['Connection: Upgrade', `Upgrade: ${upgrade}`] : ['Connection: close'];
    const lines = passedBack(head.headers).map(headerLine);
    const first = `HTTP/1.1 ${head.status} ${head.message}`;
    socket.write(`${[first, ...hop, ...lines].join('\r\n')}\r\n\r\n`, 'latin1');
    if (!isUpgraded) {
      await pipeline(stream, socket);
      return;
    }
    stopLooking();
    socket.off('close', goneAway);
    if (begun.length > 0) socket.unshift(begun);
    await joinSocket(socket, stream);
  } catch (thrown) {
    stream.destroy();
    if (socket.writable) answerStatusOn(socket, asRefusal(thrown));
    else socket.destroy();
  }
}
