import { formatHubAddress } from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import { addressesOf } from '../agent/joining-flags.ts';
import { printResult, say } from '../terminal/output.ts';
import { runsInPods } from '../install/hub/hub-in-pods.ts';
import { stateDirectory } from '../state-directory.ts';
import { advertisedNow, reloadNatsServer, writeServerCertificate } from '../up/state/server-certificate.ts';
import { type HubFiles, type AccountControllerIdentity, openHubFiles } from './hub-files.ts';
import { publishHubInfo } from './publish-hub-info.ts';
import { whoRotates } from './who-rotates.ts';

export interface TellFlags {
  readonly keys?: string;
  readonly dryRun?: boolean;
}

/** Has the registrar say them in its answers, and the account-controller tell that in an event. */
export function noteAddresses(
  files: HubFiles,
  told: readonly string[],
  rotatedBy: NonNullable<AccountControllerIdentity['rotatedBy']>,
): void {
  files.change('account-controller', (identity) => ({
    ...identity,
    knownBy: { ...identity.knownBy, addresses: told },
    rotatedBy,
  }));
  files.change('registrar', (identity) => ({ ...identity, hubAddresses: told }));
}

/**
 * Tells agents where the hub is to be reached, ahead of a move: in the answers that they hear. The server's certificate names the new
 * addresses from now on, and register commands and Helm values carry them.
 * @param texts - all of them; none: says which ones are told now
 * @throws RollcallError USAGE, HUB_MISSING
 */
export async function tellAddresses(
  texts: readonly string[],
  flags: TellFlags,
  stateDir = flags.keys ?? stateDirectory(),
): Promise<void> {
  const files = openHubFiles(stateDir);
  const before = files.read('registrar').hubAddresses ?? [];
  if (texts.length === 0) {
    printResult(before.length === 0 ? 'agents are told no addresses' : before.join('\n'));
    return;
  }
  if (runsInPods(files)) {
    const message =
      'this hub runs in a cluster: `rollcall install hub` tells them, with an --advertise for each, and brings its servers along';
    throw new RollcallError('USAGE', message);
  }
  const addresses = addressesOf(texts);
  const told = addresses.map(formatHubAddress);
  if (new Set(told).size !== told.length) throw new RollcallError('USAGE', 'an address stands there twice');
  say(`agents are told: ${told.join(', ')}`);
  const dropped = before.filter((one) => !told.includes(one));
  if (dropped.length > 0) say(`and not any more: ${dropped.join(', ')}`);
  if (flags.dryRun === true) {
    printResult('nothing was changed');
    return;
  }
  const rotatedBy = await whoRotates(stateDir);
  // First what has to be so when the first agent follows.
  const hosts = new Set([...advertisedNow(stateDir), ...addresses.map(({ host }) => host)]);
  writeServerCertificate(files.read('hub'), { stateDir, advertised: [...hosts], nowMs: Date.now() });
  reloadNatsServer(stateDir);
  noteAddresses(files, told, rotatedBy);
  await publishHubInfo(stateDir, files.read('hub'), told);
  printResult('agents hear of it in the answers to come: within an hour, when they renew at the latest');
}
