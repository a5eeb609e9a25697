import { askServices, figureOf } from '../status/ask-services.ts';
import { connectAsInspector } from '../up/state/people-connection.ts';
import type { RotatedKey } from '../up/state/hub-state.ts';
import type { HubFiles } from './hub-files.ts';

/** What the registrar says of itself (services/registrar/main.ts). */
const lifeFigure = 'memberLifeSeconds';

/** Keys that agents learn of when they renew. */
const learnedByRenewal: ReadonlySet<RotatedKey> = new Set(['signing-keys', 'ca']);

/**
 * Notes with a rotation how long credentials of members live at most, as the registrars of the hub are set: never less than was noted
 * before, because what was issued then is still out there. A hub that does not run adds nothing.
 */
export async function noteLongestLife(files: HubFiles, key: RotatedKey): Promise<void> {
  const noted = files.read('hub').rotations?.[key];
  if (!noted || !learnedByRenewal.has(key)) return;
  const nc = await connectAsInspector(files.stateDir, files.address).catch(() => undefined);
  if (!nc) return;
  const answers = await askServices(nc).finally(() => nc.close());
  const asked = (figureOf(answers, 'registrar', lifeFigure) ?? 0) * 1000;
  if (asked <= (noted.longestLifeMs ?? 0)) return;
  const rotation = { ...noted, longestLifeMs: asked };
  files.change('hub', (hub) => ({ ...hub, rotations: { ...hub.rotations, [key]: rotation } }));
}
