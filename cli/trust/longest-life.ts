import { askServices, figureOf } from '../status/ask-services.ts';
import type { RotatedKey } from '../up/state/hub-state.ts';
import { connectAsInspector } from '../up/state/people-connection.ts';
import { agentConnections } from './agent-connections.ts';
import { noteLives } from './credential-lives.ts';
import type { HubFiles } from './hub-files.ts';

/** What the registrar says of itself (services/registrar/main.ts). */
const lifeFigure = 'memberLifeSeconds';

/** Keys that agents learn of when they renew. */
export const learnedByRenewal: ReadonlySet<RotatedKey> = new Set(['signing-keys', 'ca']);

async function lifeInForceMs(files: HubFiles): Promise<number | undefined> {
  const nc = await connectAsInspector(files.stateDir, files.address).catch(() => undefined);
  if (!nc) return undefined;
  const answers = await askServices(nc).finally(() => nc.close());
  const seconds = figureOf(answers, 'registrar', lifeFigure);
  return seconds === undefined ? undefined : seconds * 1000;
}

/**
 * Notes with the keys of the hub how long credentials of members live: what its registrars issue, and what agents are connected with.
 * @returns whether a registrar has said so
 */
export async function noteLongestLife(files: HubFiles): Promise<boolean> {
  const inForceMs = await lifeInForceMs(files);
  if (inForceMs === undefined) return false;
  const agents = await agentConnections(files).catch(() => undefined);
  noteLives(files, { inForceMs, outLongest: agents?.outLongest, nowMs: Date.now() });
  return true;
}
