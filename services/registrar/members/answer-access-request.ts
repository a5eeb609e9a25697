import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import { isErrorCode } from '@rollcall/shared/errors';
import { type ClusterRecord, clusterRecord, type StoredEvent } from '@rollcall/shared/events';
import {
  type ReplyResult,
  decodeMintReply,
  mintSubject,
  type ReceivedRequest,
} from '@rollcall/shared/protocol';
import { type ReplySettings, refusalResult, rotateKeyOf, sendReply } from '../replies/reply.ts';
import { keyStatusOf } from '../replies/key-status.ts';
import { createRateLimiter } from '../limits/rate-limiter.ts';

/** The API server and the stream are asked; the provisioner's own work takes tens of milliseconds. */
const mintedWithinMs = 4000;
/** An agent asks once an hour, and when its access is changed. */
const rate = { burst: 10, perSecond: 1 / 60 };
const rememberedAgents = 20_000;

/** What the key may have in Kubernetes: by the approver's last decision, and only while it is the one that is in. */
function accessOf(record: ClusterRecord, agentKey: string): 'None' | 'Namespace' {
  const isMember = keyStatusOf(record, agentKey).kind === 'member';
  return isMember ? (record.decision?.access ?? 'None') : 'None';
}

const unavailable = (message: string) => refusalResult({ code: 'ACCESS_UNAVAILABLE', message });

/**
 * Answers verb `access`: passes the signed request on to the provisioner, whole, and gives the agent back what is sealed to it. The
 * registrar could neither make such a token nor read one.
 */
export function createAccessHandler(
  nc: NatsConnection,
  log: Pick<EventLog, 'read'>,
): (received: ReceivedRequest) => Promise<ReplyResult> {
  const perAgent = createRateLimiter(rate, rememberedAgents);

  async function mint({ envelope }: ReceivedRequest): Promise<string | undefined> {
    try {
      const answered = await nc.request(mintSubject, JSON.stringify(envelope), { timeout: mintedWithinMs });
      return answered.string();
    } catch {
      return undefined;
    }
  }

  return async (received) => {
    const { agentKey, request } = received;
    const { clusterId } = request.body;
    const record = clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
    const rotateKey = rotateKeyOf(record, agentKey);
    if (accessOf(record, agentKey) === 'None')
      return { kind: 'access', clusterId, access: 'None', ...rotateKey };
    if (!perAgent.take(agentKey, Date.now()))
      return refusalResult({ code: 'HUB_BUSY', message: 'access was asked for too often' });
    const text = await mint(received);
    if (text === undefined) return unavailable('the rbac-provisioner does not answer');
    const minted = decodeMintReply(text);
    switch (minted?.kind) {
      case 'sealed': {
        const { by, box } = minted;
        return { kind: 'access', clusterId, access: 'Namespace', sealed: { by, box }, ...rotateKey };
      }
      case 'none':
        return { kind: 'access', clusterId, access: 'None' };
      case 'refused': {
        const { code, message } = minted;
        return isErrorCode(code) ? refusalResult({ code, message }) : unavailable(message);
      }
      case undefined:
        return unavailable('the rbac-provisioner answered something else');
    }
  };
}

const settingsEvents: ReadonlySet<string> = new Set([
  'changed',
  'cordoned',
  'uncordoned',
  'rotation-requested',
]);

/** Whether a person changed something of a member that its agent is told: what it may have in Kubernetes, or a request for a new key. */
export function isAboutSettings({ type }: Pick<StoredEvent, 'type'>): boolean {
  return settingsEvents.has(type);
}

/** Tells a member at once what it may have, and whether it shall take a new key; it acts if that is news. */
export async function tellAccess(
  nc: NatsConnection,
  event: Pick<StoredEvent, 'id'>,
  { log, settings }: { log: Pick<EventLog, 'read'>; settings: ReplySettings },
): Promise<void> {
  const nowMs = Date.now();
  const record = clusterRecord(await log.read({ kind: 'cluster', id: event.id }));
  const agentKey = record.decision?.approvedKey;
  if (agentKey === undefined || keyStatusOf(record, agentKey).kind !== 'member') return;
  const result = {
    kind: 'access',
    clusterId: event.id,
    access: accessOf(record, agentKey),
    ...rotateKeyOf(record, agentKey),
  } as const;
  const inReplyTo = record.identity?.request.id ?? '';
  sendReply(nc, settings, { agentKey, verb: 'access', inReplyTo, nowMs, result });
}
