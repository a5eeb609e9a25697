import type { ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** Why a request is not carried on, as Kubernetes says such things: kubectl shows the message. */
export interface Refusal {
  readonly code: 400 | 401 | 403 | 404 | 429 | 502 | 503 | 504;
  readonly message: string;
}

const reasons: Readonly<Record<Refusal['code'], string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  429: 'TooManyRequests',
  502: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};
const retryAfterSeconds = 2;

function statusText({ code, message }: Refusal): string {
  const details = code === 429 ? { details: { retryAfterSeconds } } : {};
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: reasons[code],
    ...details,
    code,
  });
}

/** Where clients of Kubernetes look up what there is. There they show nothing of a Status, and of a text only beside this code (client-go). */
const lookedUp = /\/proxy\/apis?(?:[?]|$)/;
const shownCode = 403;

/**
 * Answers with a Status object; of a response that has begun only its connection can be ended.
 * @param url - of the request
 */
export function answerStatus(response: ServerResponse, refusal: Refusal, url = ''): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const isText = lookedUp.test(url);
  const body = isText ? refusal.message : statusText(refusal);
  response.writeHead(isText ? shownCode : refusal.code, {
    'Content-Type': isText ? 'text/plain; charset=utf-8' : 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...(refusal.code === 429 ? { 'Retry-After': String(retryAfterSeconds) } : {}),
  });
  response.end(body);
}

/** The same on the socket of a request to upgrade, which Node hands over as it is; its connection ends with it, also where the other side does not. */
export function answerStatusOn(socket: Duplex, refusal: Refusal): void {
  const body = statusText(refusal);
  const head = [
    `HTTP/1.1 ${refusal.code} ${STATUS_CODES[refusal.code] ?? ''}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
