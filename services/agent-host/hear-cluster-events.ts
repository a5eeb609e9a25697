import { setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { type EventLog, followEvents, streamState } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { type Decision, decisionSchema, type StoredEvent } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';

/** Whether an event says that the hub reaches this cluster by itself. */
function namesKubeconfig({ definition, section }: StoredEvent): boolean {
  return definition.section === decisionSchema && (section as Decision).predefined?.kubeconfig !== undefined;
}

const againAfterMs = 1000;

/**
 * Tells of every cluster that the hub reaches by itself: of those there are, and again whenever something happens to one.
 * @returns resolves, never rejects, when the signal is aborted
 */
export async function followClusters(
  nc: NatsConnection,
  options: { log: EventLog; logger: Logger; signal: AbortSignal; look(clusterId: string): void },
): Promise<void> {
  const { log, logger, signal, look } = options;
  const ours = new Set<string>();

  const onSkip = (error: Error) => logger.warn({ err: error }, 'event skipped');
  function hear(event: StoredEvent): void {
    if (namesKubeconfig(event)) ours.add(event.id);
    if (ours.has(event.id)) look(event.id);
  }

  /** The place to follow from comes first, so that nothing falls between. */
  async function readAll(): Promise<number> {
    const { lastSequence } = await streamState(nc, 'EVENTS');
    for (const event of await log.readAll('cluster.*.predefined', { onSkip })) hear(event);
    return lastSequence + 1;
  }

  async function onAway(thrown: unknown): Promise<void> {
    if (signal.aborted) return;
    logger.warn({ err: toRollcallError(thrown), delayMs: againAfterMs }, 'events could not be read');
    await delay(againAfterMs, undefined, { signal }).catch(() => undefined);
  }

  async function untilRead(): Promise<number | undefined> {
    while (!signal.aborted) {
      try {
        return await readAll();
      } catch (error) {
        await onAway(error);
      }
    }
    return undefined;
  }

  const fromSequence = await untilRead();
  if (fromSequence === undefined) return;
  const following = { filter: 'cluster.*.*', fromSequence, signal, onSkip, onAway };
  for await (const event of followEvents(nc, log, following)) hear(event);
}
