import type { EventLog, Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  draft,
  type EventDraft,
  type Publication,
  type TokenDeclaration,
  tokenPublished,
  tokenPublishingFailed,
  type TokenRecord,
  tokenRecord,
} from '@rollcall/shared/events';
import { findHubInfo } from '@rollcall/shared/hub';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { tokenIdOf } from '@rollcall/shared/trust';
import { type PublicationStep, publicationStep } from './published-secret-step.ts';
import {
  makeSecret,
  type PublicationFailure,
  type PublishedSecret,
  removeSecret,
  rewordSecret,
} from './published-secret.ts';

export interface PublishingWorld {
  readonly log: Pick<EventLog, 'read' | 'append'>;
  readonly kube: Pick<KubeClient, 'create' | 'get' | 'mergePatch' | 'delete'>;
  nowMs(): number;
}

interface HubUnknown {
  readonly reason: 'HubUnknown';
  readonly code: 'HUB_MISSING';
  readonly message: string;
}
type Made = PublishedSecret | PublicationFailure | HubUnknown;

const by = { service: 'rbac-provisioner' };

/** The event that tells what became of the Secret; none when the record says so already. */
export function publicationEvents(context: {
  asked: TokenRecord;
  made: Made | undefined;
  nowMs: number;
}): EventDraft[] {
  const { asked, made, nowMs } = context;
  const { publication, declaration } = asked;
  if (!made || !declaration || publication?.state === 'published') return [];
  const secret = `Secret "${declaration.namespace}/${declaration.name}"`;
  if ('uid' in made) {
    const { uid: secretUid, publicKey } = made;
    const section: Publication = { state: 'published', publicKey, secretUid, atMs: nowMs };
    const message = `the hub made the token and put it into ${secret}`;
    return [draft(tokenPublished, asked, { by, reason: 'Published', message, section })];
  }
  const { reason, code, message } = made;
  if (publication?.error?.code === code && publication.error.message === message) return [];
  const section: Publication = { state: 'failed', atMs: nowMs, error: { code, message } };
  return [draft(tokenPublishingFailed, asked, { by, reason, message, section })];
}

async function make({ kube }: PublishingWorld, declaration: TokenDeclaration): Promise<Made> {
  const hub = await findHubInfo(kube);
  if (hub) return makeSecret(kube, declaration, hub);
  const message = 'the hub has no ConfigMap rollcall-hub, which says its addresses';
  return { reason: 'HubUnknown', code: 'HUB_MISSING', message };
}

async function carryOut(
  world: PublishingWorld,
  step: PublicationStep,
  about: { declaration: TokenDeclaration; publication: Publication | undefined },
): Promise<Made | undefined> {
  const { declaration, publication } = about;
  if (step === 'make') return make(world, declaration);
  if (step === 'reword') {
    const hub = await findHubInfo(world.kube);
    if (hub) await rewordSecret(world.kube, declaration, hub);
    return undefined;
  }
  await removeSecret(world.kube, declaration, publication?.secretUid);
  return undefined;
}

/**
 * Makes the Secret of a token fit its record, and tells what was done (ADR 7).
 *
 *     read the record → make, reword or remove the Secret → append, if the record is still that one
 *                  ▲                                     │ conflict
 *                  └─────────────────────────────────────┘ the token may have ended meanwhile: then the Secret goes again
 *
 * @param tokenId - the aggregate on which the token was asked for, or that of its key; of other tokens nothing follows
 * @returns what was appended
 */
export async function bringPublicationAbout(
  world: PublishingWorld,
  tokenId: string,
  trace: Trace,
): Promise<readonly EventDraft[]> {
  const read = async (id: string) => tokenRecord(await world.log.read({ kind: 'token', id }));
  const first = await read(tokenId);
  const { publicationId } = first.declaration ?? {};
  if (publicationId === undefined) return [];
  let isFirst = true;

  const { drafts } = await decideAndAppend(
    world.log,
    {
      async gather() {
        const asked = isFirst && publicationId === tokenId ? first : await read(publicationId);
        isFirst = false;
        const { declaration, publication } = asked;
        const { publicKey } = publication ?? {};
        const ofKey = publicKey === undefined ? undefined : await read(tokenIdOf(publicKey));
        const nowMs = world.nowMs();
        const step = publicationStep(asked, ofKey, nowMs);
        const made = step && declaration && (await carryOut(world, step, { declaration, publication }));
        return { asked, nowMs, made };
      },
      decide: publicationEvents,
    },
    trace,
  );
  return drafts;
}
