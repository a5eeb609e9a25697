import { type EventLog, type HubAggregate, readHubAggregate } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  type AggregateRecord,
  draft,
  type EventDraft,
  type HubTrust,
  trustAnnounced,
  trustChanged,
} from '@rollcall/shared/events';
import type { AgentSigners } from '@rollcall/shared/rights';
import { keyFingerprint } from '@rollcall/shared/trust';

/** What every server was just seen to act on. */
export interface SeenTrust {
  /** All generations that are good, in any order. */
  readonly agentSigners: readonly AgentSigners[];
  readonly operatorKey: string;
  /** Of what agents know the hub by, as the file says it; absent until one of them was rotated. */
  readonly replyKey?: string | undefined;
  readonly cas?: readonly string[] | undefined;
  /** Where agents are told to reach the hub; absent until an operator said so. */
  readonly addresses?: readonly string[] | undefined;
  /** Who rotated last, and on which machine. */
  readonly rotatedBy?: { readonly person: string; readonly from: string } | undefined;
}

const aggregate = { kind: 'hub', id: 'trust' } as const;
type Generation = HubTrust['agentSigners'][number];

const nameOf = (keys: Readonly<Record<string, string>>) => Object.values(keys).toSorted().join(' ');
const fingerprints = (keys: Readonly<Record<string, string>>) =>
  Object.entries(keys)
    .map(([role, key]) => `${role} ${keyFingerprint(key)}`)
    .join(', ');

/** The hub's trust as it was last told. The cast is sound: decodeEvent has parsed the section. */
function toldTrust({ lastOf }: Pick<AggregateRecord, 'lastOf'>): HubTrust | undefined {
  return lastOf['account-controller']?.section as HubTrust | undefined;
}

/**
 * Since when nothing but the generations of now was signed with; 0 while the first one of the hub is among them.
 */
export function signersSinceMs(told: HubTrust | undefined): number {
  const since = (told?.agentSigners ?? []).map(({ sinceMs }) => sinceMs);
  return since.length === 0 ? 0 : Math.min(...since);
}

/** What is to be told about keys that came or went; nothing while all is as it was told. */
export function decideTrust(
  record: Pick<AggregateRecord, 'aggregate' | 'head' | 'lastOf'>,
  seen: SeenTrust,
  nowMs: number,
): EventDraft[] {
  const told = toldTrust(record);
  const before = told?.agentSigners ?? [];
  const isFirst = told === undefined;
  const generations: Generation[] = seen.agentSigners.map((keys) => ({
    keys: { ...keys },
    sinceMs: before.find((one) => nameOf(one.keys) === nameOf(keys))?.sinceMs ?? (isFirst ? 0 : nowMs),
  }));
  const names = new Set(generations.map(({ keys }) => nameOf(keys)));
  const gone = before.filter(({ keys }) => !names.has(nameOf(keys)));
  const come = generations.filter(({ keys }) => !before.some((one) => nameOf(one.keys) === nameOf(keys)));
  const operatorChanged = !isFirst && told.operatorKey !== seen.operatorKey;
  const answerChanged = seen.replyKey !== undefined && seen.replyKey !== told?.replyKey;
  const { cas = told?.cas ?? [] } = seen;
  const casChanged = cas.join() !== (told?.cas ?? []).join();
  const { addresses = told?.addresses ?? [] } = seen;
  const addressesChanged = addresses.join() !== (told?.addresses ?? []).join();
  const isAsTold =
    gone.length + come.length === 0 && !operatorChanged && !answerChanged && !casChanged && !addressesChanged;
  if (isAsTold) return [];
  const person = isFirst ? undefined : seen.rotatedBy;
  const message = [
    ...come.map(({ keys }) => `good now: ${fingerprints(keys)}`),
    ...gone.map(({ keys }) => `not good any more: ${fingerprints(keys)}`),
    ...(operatorChanged ? [`the operator's key ${keyFingerprint(seen.operatorKey)} signs now`] : []),
    ...(answerChanged ? [`answers are signed by ${keyFingerprint(seen.replyKey ?? '')} now`] : []),
    ...(casChanged ? [`the hub is known by ${cas.join(' and ')}`] : []),
    ...(addressesChanged ? [`agents are told to reach the hub by ${addresses.join(', ')}`] : []),
    ...(person === undefined ? [] : [`rotated on ${person.from}`]),
  ].join('; ');
  const isOneCaLeft = casChanged && cas.length === 1;
  const reasons = [
    ...(gone.length > 0 ? ['KeysDropped'] : []),
    ...(operatorChanged ? ['OperatorKeyChanged'] : []),
    ...(answerChanged ? ['ReplyKeyChanged'] : []),
    ...(isOneCaLeft ? ['CaChanged'] : []),
  ];
  const announced = come.length > 0 ? 'KeysAnnounced' : casChanged ? 'CaAnnounced' : 'AddressesAnnounced';
  const [reason = announced] = reasons;
  const { replyKey = told?.replyKey } = seen;
  return [
    draft(reasons.length > 0 ? trustChanged : trustAnnounced, record, {
      by: person === undefined ? { service: 'account-controller' } : { person: person.person },
      reason,
      message: message.slice(0, 1024),
      section: {
        agentSigners: generations,
        operatorKey: seen.operatorKey,
        ...(replyKey === undefined ? {} : { replyKey }),
        ...(cas.length === 0 ? {} : { cas: [...cas] }),
        ...(addresses.length === 0 ? {} : { addresses: [...addresses] }),
      },
    }),
  ];
}

/**
 * Tells what is so now, once; nothing where a newer version has told it last: nobody here knows what that said.
 * @returns the hub's trust as it is told then; undefined where only a newer version knows
 */
export async function publishTrust(
  log: Pick<EventLog, 'read' | 'scan' | 'append'>,
  seen: SeenTrust,
  nowMs: number,
): Promise<HubTrust | undefined> {
  const { context, drafts } = await decideAndAppend(
    log,
    {
      gather: () => readHubAggregate(log, aggregate.id),
      decide: ({ record, newer }) => (newer.length > 0 ? [] : decideTrust(record, seen, nowMs)),
    },
    { correlation: 'trust' },
  );
  return (drafts[0]?.section as HubTrust | undefined) ?? toldIn(context);
}

/** An older word may name keys as good since then that were replaced: none is taken for the last one. */
function toldIn({ record, newer }: HubAggregate): HubTrust | undefined {
  return newer.length > 0 ? undefined : toldTrust(record);
}

/** @returns undefined where nothing was told, or a newer version told it */
export async function readToldTrust(log: Pick<EventLog, 'read' | 'scan'>): Promise<HubTrust | undefined> {
  return toldIn(await readHubAggregate(log, aggregate.id));
}
