import {
  type AgentRefusal,
  passedToMember,
  refusedPath,
  type StreamRequest,
  streamVersion,
} from '@rollcall/shared/tunnel';
import { identityHeaders, type MemberAccess } from './impersonation.ts';

type Headers = Record<string, string | readonly string[]>;

/**
 * What is asked of the member for a stream: pure.
 * @returns why it is not passed on; or the headers, which are the person's own as far as they say nothing about who it is
 */
export function memberRequest(
  request: StreamRequest,
  access: MemberAccess,
): { readonly headers: Headers } | { readonly refused: AgentRefusal; readonly why: string } {
  if (request.version > streamVersion)
    return {
      refused: 'version',
      why: 'the agent is older than the hub, and does not know how to pass this on',
    };
  const wrongPath = refusedPath(request.path);
  if (wrongPath !== undefined) return { refused: 'path', why: `the path is not passed on: ${wrongPath}` };
  const identity = identityHeaders(access, request);
  if ('refused' in identity) return { refused: 'who', why: identity.refused };
  const headers = new Map<string, string | string[]>();
  for (const [name, value] of passedToMember(request.headers)) {
    const before = headers.get(name.toLowerCase());
    headers.set(name.toLowerCase(), before === undefined ? value : [before, value].flat());
  }
  return {
    headers: {
      ...Object.fromEntries(headers),
      ...identity.headers,
      ...(request.hasBody && request.upgrade === undefined ? { 'transfer-encoding': 'chunked' } : {}),
      ...(request.upgrade === undefined ? {} : { connection: 'Upgrade', upgrade: request.upgrade }),
    },
  };
}
