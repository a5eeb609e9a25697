import { decodeJwt, type Xkey } from '@rollcall/shared/trust';
import { z } from 'zod';
import type { CalloutClaim } from './callout-verdict.ts';

/** The server's question, as far as it matters here. */
export interface CalloutRequest {
  readonly serverId: string;
  readonly serverXkey: string | undefined;
  readonly userNkey: string;
  /** Of the client, as the server sees it; behind a load balancer the server is told by the PROXY protocol. */
  readonly host: string;
  readonly claim: CalloutClaim;
}

/** As long as the server lets it be: whoever shows too much is refused like others, and not left without a reply. */
const text = z.string().optional();
/** Open: the server says much more. What is in `connect_opts` the client has chosen. */
const requestSchema = z.looseObject({
  server_id: z.looseObject({ id: z.string().min(1).max(256), xkey: z.string().max(256).optional() }),
  user_nkey: z.string().min(1).max(256),
  client_info: z.looseObject({ nonce: text, host: text }).optional(),
  connect_opts: z.looseObject({ nkey: text, sig: text, user: text, pass: text, name: text }).optional(),
});

/**
 * Opens and reads what the server asks.
 * @param sender - the server's own X25519 key, where what it sends is sealed
 * @returns undefined for what is none, or is signed by somebody else than the server that it names
 */
export function decodeCalloutRequest(
  data: Uint8Array,
  sender: string | undefined,
  xkey: Pick<Xkey, 'open'>,
): CalloutRequest | undefined {
  const plain = sender ? xkey.open(data, sender) : data;
  const jwt = plain && decodeJwt(new TextDecoder().decode(plain));
  const claims = requestSchema.safeParse(jwt?.nats).data;
  if (!claims || jwt?.iss !== claims.server_id.id) return undefined;
  const { server_id: server, client_info: client, connect_opts: options } = claims;
  const { nkey = '', sig = '', user, pass, name } = options ?? {};
  return {
    serverId: server.id,
    serverXkey: server.xkey,
    userNkey: claims.user_nkey,
    host: client?.host ?? '',
    claim: { nkey, sig, user, pass, name, nonce: client?.nonce ?? '' },
  };
}
