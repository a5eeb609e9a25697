import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { RollcallError } from '@rollcall/shared/errors';
import { clusterRecord } from '@rollcall/shared/events';
import { type KubeClient, requestAccountToken } from '@rollcall/shared/kubernetes';
import {
  type AccessBox,
  decodeForwardedRequest,
  type MintReply,
  refuseStaleRequest,
} from '@rollcall/shared/protocol';
import { createXkey } from '@rollcall/shared/trust';
import type { MembersApi } from './members-api.ts';
import { memberName } from '../access/member-access-objects.ts';
import { judgeMint } from './mint-verdict.ts';

export interface MintWorld {
  readonly log: Pick<EventLog, 'read' | 'append'>;
  readonly kube: Pick<KubeClient, 'createSubresource'>;
  readonly hubId: string;
  /** Undefined while nobody has said under which address members reach it. */
  readonly hubApi: MembersApi | undefined;
  readonly tokenLifeMs: number;
  /** @returns whether this request of this agent was heard before */
  isRepeated(request: string): boolean;
  nowMs(): number;
}

const unavailable = (message: string): MintReply => ({
  kind: 'refused',
  code: 'ACCESS_UNAVAILABLE',
  message,
});

/**
 * Makes an access token for the agent that signed this request, and seals it to the key that the request names. The registrar only
 * passes both on: it can open nothing, and it can have nothing made that no agent asked for.
 *
 *     whose request is it? → does the approver's last decision give it access? → keep that there is a token → make it
 *                                      ▲                                                                   │
 *                                      └── read again: withdrawn meanwhile? then nobody ever sees it ◀─────┘
 *
 * @param data - the signed request, as it came from the agent
 * @throws RollcallError REQUEST_INVALID, REQUEST_TOO_LARGE, PROOF_INVALID; KUBE_UNREACHABLE, KUBE_API and what the log throws
 */
export async function mintAccess(world: MintWorld, data: Uint8Array): Promise<MintReply> {
  const { agentKey, request } = decodeForwardedRequest('access', data);
  if (request.verb !== 'access')
    throw new RollcallError('REQUEST_INVALID', 'the message does not ask for access');
  if (request.hub !== world.hubId)
    return { kind: 'refused', code: 'HUB_WRONG', message: 'the request is for another hub' };
  const stale = refuseStaleRequest(request.atMs, world.nowMs());
  if (stale) return { kind: 'refused', ...stale };
  if (world.isRepeated(`${agentKey} ${request.id}`))
    return { kind: 'refused', code: 'REPLAYED', message: 'this very request was heard before' };

  const aggregate = { kind: 'cluster', id: request.body.clusterId } as const;
  const judge = async () => {
    const record = clusterRecord(await world.log.read(aggregate));
    return { record, verdict: judgeMint(record, { agentKey, nowMs: world.nowMs() }) };
  };
  const { context } = await decideAndAppend(
    world.log,
    { gather: judge, decide: ({ verdict }) => (verdict.kind === 'mint' ? verdict.drafts : []) },
    { correlation: request.id, traceparent: request.traceparent },
  );
  const { verdict } = context;
  if (verdict.kind === 'none') return verdict;
  if (verdict.kind === 'not-yet') return unavailable('the namespace of the cluster is not ready yet');
  const { hubApi } = world;
  if (!hubApi) return unavailable('the hub does not say under which address members reach its API server');

  const account = { namespace: verdict.namespace, name: memberName };
  const { token, expirationTimestamp = '' } = await requestAccountToken(world.kube, account, {
    expirationSeconds: Math.round(world.tokenLifeMs / 1000),
    ...(hubApi.audience === undefined ? {} : { audiences: [hubApi.audience] }),
  });
  const expiresAtMs = Date.parse(expirationTimestamp);
  if (token === undefined || !Number.isFinite(expiresAtMs))
    return unavailable('the API server made no token');
  const { verdict: since } = await judge();
  if (since.kind === 'none') return since;
  if (since.kind === 'not-yet' || since.drafts.length > 0)
    return unavailable('the access of the cluster has just changed');
  return seal(request.body.sealTo, {
    v: 1,
    requestId: request.id,
    clusterId: aggregate.id,
    namespace: verdict.namespace,
    server: hubApi.server,
    caPem: hubApi.caPem,
    token,
    expiresAtMs,
  });
}

/** With a key of its own, which nobody keeps. */
function seal(recipient: string, box: AccessBox): MintReply {
  const key = createXkey();
  let sealed: Uint8Array;
  try {
    sealed = key.seal(new TextEncoder().encode(JSON.stringify(box)), recipient);
  } catch (cause) {
    throw new RollcallError('REQUEST_INVALID', 'the key to seal to is no X25519 key', { cause });
  }
  return { kind: 'sealed', by: key.publicKey, box: Buffer.from(sealed).toString('base64') };
}
