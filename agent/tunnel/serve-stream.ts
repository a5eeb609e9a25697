import type { ClientRequest, IncomingMessage } from 'node:http';
import {
  type AgentRefusal,
  headerPairs,
  type HeaderList,
  joinSocket,
  passedBack,
  type StreamRequest,
  type StreamResponse,
  type TunnelStream,
} from '@rollcall/shared/tunnel';
import type { MemberHttp } from './member-http.ts';
import type { MemberAccess } from './impersonation.ts';
import { memberRequest } from './judge-request.ts';

/** Tells the person why, and ends. */
export function refuse(stream: TunnelStream, refused: AgentRefusal, why: string): void {
  stream.sendHead({ refused, why } satisfies StreamResponse);
  stream.end();
  stream.resume();
}

function sendHead(stream: TunnelStream, answer: IncomingMessage): void {
  const { statusCode: status = 502, statusMessage: message = '', rawHeaders } = answer;
  const headers: HeaderList = passedBack(headerPairs(rawHeaders));
  stream.sendHead({ status, message, headers } satisfies StreamResponse);
}

async function exchange(
  stream: TunnelStream,
  outgoing: ClientRequest,
  request: StreamRequest,
): Promise<void> {
  const answered = Promise.withResolvers<void>();
  const giveUp = () => {
    outgoing.destroy();
    answered.resolve();
  };
  stream.once('close', giveUp);
  const closed = () => answered.reject(new Error('it closed the connection without an answer'));
  outgoing.once('close', closed);
  outgoing.on('error', (error) => answered.reject(error));
  outgoing.on('upgrade', (answer, socket, head) => {
    outgoing.off('close', closed);
    sendHead(stream, answer);
    if (head.length > 0) socket.unshift(head);
    stream.off('close', giveUp);
    answered.resolve(joinSocket(socket, stream));
  });
  outgoing.on('response', (answer) => {
    outgoing.off('close', closed);
    sendHead(stream, answer);
    // What is not asked for any more, such as the rest of a refused upload, must not keep the stream open.
    if (!request.hasBody || request.upgrade !== undefined) stream.resume();
    // By hand, as it is done for each GET: `pipeline` makes an abort signal and its error each time, a fifth of the agent's time (measured).
    answer.on('data', (data) => {
      if (stream.write(data)) return;
      answer.pause();
      stream.once('drain', () => answer.resume());
    });
    answer.on('error', (error) => answered.reject(error));
    answer.on('end', () => {
      stream.end();
      answered.resolve();
    });
  });
  if (request.hasBody && request.upgrade === undefined) stream.pipe(outgoing);
  else outgoing.end();
  await answered.promise;
}

/** Carries one request to the member's API server and its answer back; never rejects. */
export async function serveStream(
  stream: TunnelStream,
  request: StreamRequest,
  member: { readonly http: MemberHttp; readonly access: MemberAccess },
): Promise<void> {
  stream.accept();
  const wanted = memberRequest(request, member.access);
  if ('refused' in wanted) {
    refuse(stream, wanted.refused, wanted.why);
    return;
  }
  let hasAnswer = false;
  const { method, path } = request;
  try {
    const outgoing = await member.http.begin({ method, path, headers: wanted.headers });
    outgoing.once('response', () => void (hasAnswer = true));
    outgoing.once('upgrade', () => void (hasAnswer = true));
    if (stream.destroyed) outgoing.destroy();
    else await exchange(stream, outgoing, request);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    if (hasAnswer || stream.destroyed) stream.destroy(new Error(why));
    else refuse(stream, 'member', `the member's API server could not be asked: ${why}`);
  }
}
