import { z } from 'zod';
import { isSafeId } from '@rollcall/shared/events';
import { tunnelConnectionName } from '@rollcall/shared/tunnel/subjects';
import type { MemberConnection } from '../engine/liveness-signals.ts';

/** What we need of a NATS account connect or disconnect advisory. `client.name` is the client's own choice: it can hide its connection only. */
const noticeSchema = z.looseObject({
  server: z.looseObject({
    id: z.string().max(128),
    /** Stays over restarts of the server, which its id does not; where it has none, or one of no use, the id stands for it. */
    name: z.string().min(1).max(128).optional().catch(undefined),
  }),
  client: z.looseObject({
    id: z.int().min(1),
    /** The user's NKey, for a user with a JWT of its own. */
    user: z.string().max(128).optional(),
    jwt: z.string().max(8192).optional(),
    name: z.string().max(256).optional(),
  }),
});

const jwtBodySchema = z.looseObject({ name: z.string(), sub: z.string() });

/** The server has verified the JWT; only its name is needed here. */
function jwtBody(jwt: string): z.output<typeof jwtBodySchema> | undefined {
  try {
    const body: unknown = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8'));
    return jwtBodySchema.safeParse(body).data;
  } catch {
    return undefined;
  }
}

/**
 * The member whose connection a notice is about: its JWT is named after the cluster and speaks of the connecting key.
 * @returns `isBeside`: it says of itself that it is not that with the heartbeats; undefined for others (agents that came through the
 *   callout have no JWT of their own) and for garbage
 */
export function memberOfNotice(
  text: string,
): (MemberConnection & { readonly isBeside: boolean }) | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { data } = noticeSchema.safeParse(json);
  if (!data?.client.jwt || !data.client.user) return undefined;
  const body = jwtBody(data.client.jwt);
  if (!body || body.sub !== data.client.user || !isSafeId(body.name)) return undefined;
  const { id: serverId, name: serverName = serverId } = data.server;
  const isBeside = data.client.name === tunnelConnectionName;
  return { clusterId: body.name, key: body.sub, serverId, serverName, clientId: data.client.id, isBeside };
}
