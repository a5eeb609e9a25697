import type { Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  draft,
  type EventDraft,
  type Publication,
  type TokenRecord,
  tokenRecord,
  tokenUnpublished,
} from '@rollcall/shared/events';
import { tokenIdOf } from '@rollcall/shared/trust';
import { endedAtMs } from './published-secret-step.ts';
import type { PublishingWorld } from './publish-token.ts';
import { hasSecret } from './published-secret.ts';

/** Whether its Secret should be there: it was made, nobody has told that it is gone, and the token is good. */
function shouldHaveSecret(asked: TokenRecord, ofKey: TokenRecord | undefined, nowMs: number): boolean {
  const { publication } = asked;
  const isThere = publication?.state === 'published' && publication.secretGoneAtMs === undefined;
  return isThere && endedAtMs(asked, ofKey, nowMs) === undefined;
}

/** What is told of a Secret that was looked for in vain, by the records as they were read after that. */
export function lostSecretEvents(
  asked: TokenRecord,
  ofKey: TokenRecord | undefined,
  nowMs: number,
): EventDraft[] {
  const { declaration, publication } = asked;
  if (!declaration || !publication || !shouldHaveSecret(asked, ofKey, nowMs)) return [];
  const message = `somebody deleted Secret "${declaration.namespace}/${declaration.name}"; it is not made again, and the token is good still`;
  const section: Publication = { ...publication, secretGoneAtMs: nowMs };
  return [
    draft(tokenUnpublished, asked, {
      by: { service: 'rbac-provisioner' },
      reason: 'SecretGone',
      message,
      section,
    }),
  ];
}

/**
 * Tells once that the Secret of a good token is gone. It is not made again: who deleted it may have meant to hand the token to
 * nobody else, and what was in it cannot be made again.
 * @param publicationId - the aggregate on which the token was asked for
 * @throws KubeApiError, RollcallError: look again later
 */
export async function tellLostSecret(
  world: PublishingWorld,
  publicationId: string,
  trace: Trace,
): Promise<readonly EventDraft[]> {
  const read = async (id: string) => tokenRecord(await world.log.read({ kind: 'token', id }));
  async function readBoth() {
    const asked = await read(publicationId);
    const { publicKey } = asked.publication ?? {};
    return { asked, ofKey: publicKey === undefined ? undefined : await read(tokenIdOf(publicKey)) };
  }
  const { drafts } = await decideAndAppend(
    world.log,
    {
      async gather() {
        const { asked, ofKey } = await readBoth();
        const { declaration, publication } = asked;
        if (!declaration || !shouldHaveSecret(asked, ofKey, world.nowMs())) return undefined;
        if (await hasSecret(world.kube, declaration, publication?.secretUid)) return undefined;
        // At its end a token loses its Secret as well, and the end is written before that.
        return readBoth();
      },
      decide: (found) => (found ? lostSecretEvents(found.asked, found.ofKey, world.nowMs()) : []),
    },
    trace,
  );
  return drafts;
}
