import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { toRollcallError } from '@rollcall/shared/errors';
import { encodeMintReply, type MintReply, mintSubject } from '@rollcall/shared/protocol';
import type { Logger, Metrics } from '@rollcall/shared/service';
import { mintAccess, type MintWorld } from './mint-member-token.ts';

/** Each is a few requests to stream and API server; more wait in the agents. */
const maxOpen = 32;

const wrongWithTheRequest: ReadonlySet<string> = new Set([
  'REQUEST_INVALID',
  'REQUEST_TOO_LARGE',
  'PROOF_INVALID',
]);

/**
 * Hears the registrar ask for access tokens, and answers with sealed ones.
 * @returns how to stop hearing and wait for what is being answered
 */
export function answerMintRequests(
  nc: NatsConnection,
  world: MintWorld,
  { logger, metrics }: { logger: Logger; metrics: Metrics },
): { drain(): Promise<void> } {
  const open = new Set<Promise<void>>();

  async function replyTo(data: Uint8Array): Promise<MintReply> {
    if (open.size >= maxOpen) return { kind: 'refused', code: 'HUB_BUSY', message: 'too many at once' };
    try {
      return await mintAccess(world, data);
    } catch (thrown) {
      const error = toRollcallError(thrown);
      logger.warn({ err: error }, 'no access token could be made');
      const isOfAgent = wrongWithTheRequest.has(error.code);
      // What the API server said is for the log of the hub.
      return isOfAgent
        ? { kind: 'refused', code: error.code, message: error.message.slice(0, 500) }
        : { kind: 'refused', code: 'ACCESS_UNAVAILABLE', message: 'the hub could not make an access token' };
    }
  }

  async function answer(message: Msg): Promise<void> {
    const reply = await replyTo(message.data);
    const outcome = reply.kind === 'refused' ? reply.code : reply.kind;
    metrics.count('rollcall_access_tokens_total', { outcome });
    if (!nc.isClosed()) message.respond(encodeMintReply(reply));
  }

  function take(message: Msg): void {
    const work = answer(message).finally(() => open.delete(work));
    open.add(work);
  }

  const subscription = nc.subscribe(mintSubject, {
    queue: 'rbac-provisioner',
    callback: (error, message) => {
      if (!error) take(message);
    },
  });
  return {
    async drain() {
      await subscription.drain();
      await Promise.allSettled(open);
    },
  };
}
