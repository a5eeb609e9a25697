import { RollcallError } from '@rollcall/shared/errors';
import { type Reply, type ReplyResult, decodeReply } from '@rollcall/shared/protocol/reply';
import { hubIdOf, type Nkey } from '@rollcall/shared/trust/keys';
import type { Sending } from './requester.ts';
import type { FactsReport } from '../facts/facts-report.ts';
import type { HubAccess } from '../access/hub-access.ts';
import { errorAsRefusal } from '../protocol/refusal-for-people.ts';
import type { Session } from './session.ts';
import type { ToldPlaces } from './adopt-hub-addresses.ts';
import type { PeopleAnswered } from '../tunnel/answer-people.ts';

export interface ReplyHandlerOptions {
  readonly sending: Pick<Sending, 'answered' | 'last'>;
  readonly factsReport: Pick<FactsReport, 'confirmed'>;
  readonly hubAccess: Pick<HubAccess, 'hear'> | undefined;
  readonly toldPlaces: ToldPlaces;
  /** The hub says how often to send heartbeats, and how slowly to come back; undefined: as before. */
  changeInterval(
    said: Pick<Extract<ReplyResult, { kind: 'done' }>, 'heartbeatIntervalMs' | 'returnWithinMs'>,
  ): void;
  /** The hub says whether it has shut the cluster to people; undefined: nobody gets in anyway. */
  readonly peopleMayEnter: PeopleAnswered['hubSaid'] | undefined;
  /** A reply about a rotation of keys. */
  rotation(reply: Reply): void;
  /** A person wants this key of the agent replaced. */
  rotationRequested(key: string): void;
}

/** Hears what is answered on the subjects of a key, and believes what the hub has signed for that key. */
export type HandleReply = (heard: { data: Uint8Array; subject: string; key: Nkey }) => void;

export function createReplyHandler(session: Session, options: ReplyHandlerOptions): HandleReply {
  const { stateStore, keys, logger, signal } = session;

  /** Who answers with another key is another hub, or pretends to be ours: it is not followed, and people should know. */
  function hearStranger(data: Uint8Array, key: Nkey): void {
    const stranger = decodeReply(data, { agentKey: key.publicKey, replyKeyIsTrusted: () => true });
    if (stranger === undefined) return;
    const message = `the reply is signed by the key of hub "${hubIdOf(stranger.replyKey)}", and the token is of hub "${stateStore.state.hubId}"`;
    session.tellRefusal(
      'refused',
      errorAsRefusal(new RollcallError('HUB_WRONG', message)),
      session.refusedRetryMs,
    );
  }

  /** The last request when the hub last said what it wants of this member. */
  let settingsCameAfter: string | undefined;
  function hearSettings(
    result: Extract<ReplyResult, { kind: 'done' }>,
    { inReplyTo, atMs: atHubMs }: Reply,
  ): void {
    const last = options.sending.last();
    const isAskedSince = inReplyTo === last && last !== settingsCameAfter;
    settingsCameAfter = last;
    options.changeInterval(result);
    options.peopleMayEnter?.({ isShut: result.memberAccess === 'Denied', atHubMs, isAskedSince });
  }

  return ({ data, subject, key }) => {
    const { replyKey: pinned, hubId, hubCaPem: caPem } = stateStore.state;
    const replyKeyIsTrusted = (replyKey: string) =>
      pinned === undefined ? hubIdOf(replyKey) === hubId : replyKey === pinned;
    const heard = decodeReply(data, { agentKey: key.publicKey, replyKeyIsTrusted, caPem });
    if (signal.aborted) return;
    if (heard === undefined || heard.reply.hub !== hubId) return hearStranger(data, key);
    const { reply, replyKey } = heard;
    if (pinned !== replyKey) stateStore.update((old) => ({ ...old, replyKey }));
    const { result, inReplyTo, atMs } = reply;
    options.toldPlaces.learn(reply);
    const verb = subject.split('.').at(-1);
    if ('rotateKey' in result && result.rotateKey !== undefined) options.rotationRequested(result.rotateKey);
    const isToLast = inReplyTo === options.sending.last();
    // Making a token takes the hub a while: it says less about the clocks.
    if (verb !== 'access') options.sending.answered(inReplyTo, atMs);
    switch (verb) {
      case 'facts':
        // What a member may do is not decided over its facts; those that were not taken are sent again.
        if (result.kind === 'done') {
          options.factsReport.confirmed(inReplyTo);
          hearSettings(result, reply);
        } else if (result.kind === 'refused' && result.code === 'CLUSTER_FORGOTTEN')
          session.dispatch({ kind: 'forgotten' });
        else logger.warn({ reason: result.kind }, 'facts not taken');
        break;
      case 'interval':
        if (result.kind === 'done') hearSettings(result, reply);
        break;
      case 'access':
        options.hubAccess?.hear(reply);
        break;
      case 'rotate':
        options.rotation(reply);
        break;
      default:
        // They go with a join as well.
        if (result.kind !== 'refused') options.factsReport.confirmed(inReplyTo);
        session.dispatch({
          kind: 'replied',
          reply,
          isToLast,
          agentKey: key.publicKey,
          isOwnKey: key.publicKey === keys.current().publicKey,
          role: session.link?.role,
        });
    }
  };
}
