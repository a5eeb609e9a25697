import { type IncomingHttpHeaders, request as requestPlainly } from 'node:http';
import { request as requestByTls } from 'node:https';
import { createGunzip } from 'node:zlib';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface SendOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Of who serves by TLS, and by which name. */
  readonly tls?: { readonly ca: string; readonly servername: string };
  /** Whether an answer that the server cuts off is one: its head, and what came of it. */
  readonly mayBeCut?: boolean;
  /** Enough of a stream. */
  isEnough?(body: string): boolean;
}

/** By hand: `fetch` lets nobody choose Host. */
export function send(url: string, options: SendOptions = {}): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const { method = 'GET', headers = {}, body, tls, mayBeCut = false, isEnough } = options;
  const request = url.startsWith('https:') ? requestByTls : requestPlainly;
  const sent = request(url, { method, headers, ...tls }, (response) => {
    let text = '';
    const answer = () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
    const stream = response.headers['content-encoding'] === 'gzip' ? response.pipe(createGunzip()) : response;
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => {
      text += chunk;
      if (!isEnough?.(text)) return;
      answer();
      sent.destroy();
    });
    stream.on('end', answer);
    if (mayBeCut) response.on('error', answer);
    stream.on('error', reject);
  });
  sent.on('error', reject);
  sent.end(body);
  return promise;
}
