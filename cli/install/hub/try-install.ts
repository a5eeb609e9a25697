import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { printResult, say } from '../../terminal/output.ts';
import { attributionIsServed } from '../../up/hub-manifests.ts';
import { wouldBeApplied } from '../would-be-applied.ts';
import { type Addresses, type KeyFlags, makeKeys } from './apply-keys.ts';
import { hubObjects } from './hub-objects.ts';
import type { HubPlaces } from './hub-places.ts';
import type { HubValues } from './hub-values.ts';
import { removeLeftOut } from './remove-left-out.ts';
import { withCopyOf } from './in-copy-of-keys.ts';

/**
 * Says what would become of each object, and changes nothing; the keys are those that a copy of the directory gives.
 * @throws as makeKeys; KubeApiError what the API server would refuse
 */
export async function tryInstall(
  places: HubPlaces,
  flags: KeyFlags,
  { given, addresses }: { given: HubValues; addresses: Addresses },
): Promise<void> {
  const made = await withCopyOf(flags.keys, (keys) =>
    makeKeys(places, { ...flags, keys }, { ...addresses, nats: given.nats }),
  );
  const attribution = await attributionIsServed(places.hub);
  const values = { ...given, hub: made.hub, attribution };
  const areThere = existsSync(join(flags.keys, 'hub.json'));
  say(`[keys] ${areThere ? 'those of' : 'new ones would be made in'} "${flags.keys}"`);
  if (places.areApart) say('[keys] kubeconfigs of the hub would be made for its pods');
  for (const { client, parts } of places.each) {
    const keys = [
      ...(client === places.hub ? made.ofHub : []),
      ...(client === places.workloads ? made.ofWorkloads : []),
    ];
    const objects = flags.onlyKeys ? keys : [...keys, ...hubObjects({ ...values, parts })];
    for (const line of await wouldBeApplied(client, objects)) say(`[install] ${line}`);
    if (!flags.onlyKeys) await removeLeftOut(client, { ...values, parts }, { dryRun: true });
  }
  if (!flags.onlyKeys) say('[install] `--output yaml` prints the objects');
  printResult('the hub can be installed (dry run)');
}
