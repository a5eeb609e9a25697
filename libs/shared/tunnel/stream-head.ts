import { inOneLine } from './strip-control-characters.ts';

/** Headers of one message, each value as it came: a name that came twice has two. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** What opens a stream: a request that a person made on the hub, without its body. */
export interface StreamRequest {
  /** Bumped when an older agent would misread it. */
  readonly version: number;
  /** Which replica of the gateway it is a stream of, and which of its streams. */
  readonly gateway: string;
  readonly stream: string;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: HeaderList;
  readonly hasBody: boolean;
  /** To raw bytes, where the request asks for it: what the header says. */
  readonly upgrade?: string;
  /** Who the hub's API server says it is. */
  readonly user: string;
  readonly groups: readonly string[];
}

/** What the member answered, or why the agent did not ask it. */
export type StreamResponse =
  | { readonly status: number; readonly message: string; readonly headers: HeaderList }
  | { readonly refused: AgentRefusal; readonly why: string };

/** Why an agent does not pass a request on. */
export const agentRefusals = ['version', 'off', 'who', 'path', 'busy', 'member'] as const;
export type AgentRefusal = (typeof agentRefusals)[number];

/** Of the request; what an older version says is understood as well. */
export const streamVersion = 1;
/** Of the request as it goes over the bus, JSON: within what an agent is sent at once, whose own words are no longer. */
export const longestRequestBytes = 48 * 1024;
const mostGroups = 512;

const isText = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isHeaders = (value: unknown): value is HeaderList =>
  Array.isArray(value) &&
  value.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((text) => isText(text)));

function parsed(bytes: Uint8Array): Record<string, unknown> | undefined {
  if (bytes.length > longestRequestBytes) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** One word of a subject. */
const isWord = (value: unknown): value is string => isText(value) && /^[a-z0-9]{1,32}$/.test(value);

/** @returns undefined for what is no request */
export function readStreamRequest(bytes: Uint8Array): StreamRequest | undefined {
  const found = parsed(bytes);
  return found && streamRequestIn(found);
}

/** @returns undefined for what no agent takes for a request */
export function streamRequestIn(
  found: Readonly<Partial<Record<keyof StreamRequest, unknown>>>,
): StreamRequest | undefined {
  const { version, gateway, stream, method, path, headers, hasBody, upgrade, user, groups } = found;
  if (typeof version !== 'number' || !isWord(gateway) || !isWord(stream)) return undefined;
  if (!isText(method) || !/^[A-Z]{1,16}$/.test(method) || !isText(path) || !isHeaders(headers))
    return undefined;
  // Its answer would be no answer but the connection itself.
  if (method === 'CONNECT') return undefined;
  if (typeof hasBody !== 'boolean' || !isText(user) || user === '') return undefined;
  if (!Array.isArray(groups) || groups.length > mostGroups || !groups.every((group) => isText(group)))
    return undefined;
  const asked = { version, gateway, stream, method, path, headers, hasBody, user, groups };
  return isText(upgrade) ? { ...asked, upgrade } : asked;
}

/** @returns undefined for what is no head of a response: an agent may answer anything at all */
export function readStreamResponse(bytes: Uint8Array): StreamResponse | undefined {
  const found = parsed(bytes);
  if (!found) return undefined;
  const { status, message, headers, refused, why } = found;
  const refusal = agentRefusals.find((known) => known === refused);
  if (refusal !== undefined && isText(why)) return { refused: refusal, why: inOneLine(why.slice(0, 512)) };
  const isStatus = typeof status === 'number' && Number.isInteger(status) && status >= 101 && status <= 599;
  if (!isStatus || !isText(message) || !isHeaders(headers)) return undefined;
  return { status, message: message.replace(/[^\t\u0020-\u007e]/g, ''), headers };
}
