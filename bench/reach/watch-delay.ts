import { setTimeout as delay } from 'node:timers/promises';
import { type KubeAccess, type KubeClient, resources } from '@rollcall/shared/kubernetes';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { nowMs } from '../report/clock.ts';
import { through } from './members.ts';
import { openWatch } from './open-watch.ts';

const changes = 100;
const path = '/api/v1/namespaces/default/configmaps?watch=true&fieldSelector=metadata.name%3Dsmall';

const note = (way: Map<string, number>) => (text: string) => {
  for (const [, turn] of text.matchAll(/"turn":"(\d+)"/g)) if (turn && !way.has(turn)) way.set(turn, nowMs());
};

/** @returns how much later each change is shown through the hub */
export async function measureWatchDelay(
  access: { readonly admin: KubeAccess; readonly member: KubeAccess },
  member: KubeClient,
  cluster: string,
): Promise<Spread> {
  const seen = { direct: new Map<string, number>(), byHub: new Map<string, number>() };
  const ends = [
    await openWatch(access.member, path, note(seen.direct)),
    await openWatch(access.admin, through(cluster, path), note(seen.byHub)),
  ];
  for (let turn = 0; turn < changes; turn++) {
    const change = { data: { turn: String(turn) } };
    await member.mergePatch(resources.configMaps, 'small', change, { namespace: 'default' });
    await delay(20);
  }
  await delay(500);
  for (const end of ends) end();
  return spreadOf([...seen.byHub].map(([turn, atMs]) => atMs - (seen.direct.get(turn) ?? Number.NaN)));
}
