import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { type KubeObject, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { exitCodeOf, exitCodes } from '../exit-code.ts';
import { type DoneFormat, type Outcome, printObjects, printOutcome } from '../get/print-objects.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { confirmed } from '../terminal/confirmed.ts';
import { say } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import type { RequestObject } from './find-request.ts';

/** What a command that takes several targets is given beside their names. */
export interface SeveralFlags extends HubFlags {
  /** Labels of the requests or clusters that are meant. */
  readonly selector?: string;
  /** Every request that waits for a person. */
  readonly allHeld?: boolean;
  /** Not to be asked before several are acted on. */
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly output: DoneFormat;
}

export interface Target {
  /** A name or an id, as a person would type it. */
  readonly word: string;
  readonly isId: boolean;
  /** Of a request: the key that asked when people saw it. Another one may ask by that id by the time that they say yes. */
  readonly seenKey?: string;
  /** For people: what it is. */
  readonly shown: string;
}

const named = (word: string): Target => ({ word, isId: false, shown: `"${word}"` });

/** Every request that waits for a person, with these labels. @throws KubeApiError */
export async function heldRequests(flags: SeveralFlags): Promise<Target[]> {
  return heldAmong(await listed<RequestObject>(flags, resources.clusterRegistrationRequests));
}

export function heldAmong(found: readonly StoredObject<RequestObject>[]): Target[] {
  return found.flatMap(({ metadata, spec, status }) =>
    spec === undefined || status?.result !== 'Held'
      ? []
      : [
          {
            word: metadata.name,
            isId: true,
            seenKey: spec.keyFingerprint,
            shown: `"${spec.clusterName}" (${metadata.name}): ${status.message ?? status.reason ?? 'held'}`,
          },
        ],
  );
}

/** Clusters with these labels. @throws KubeApiError */
export async function labelledClusters(flags: SeveralFlags): Promise<Target[]> {
  const found = await listed<ManagedCluster & KubeObject>(flags, resources.managedClusters);
  return found.map(({ metadata }) => named(metadata.name));
}

async function listed<Object extends KubeObject>(
  flags: SeveralFlags,
  resource: (typeof resources)[keyof typeof resources],
): Promise<StoredObject<Object>[]> {
  const client = openHub(flags);
  try {
    sayHub(client);
    const labelSelector = flags.selector;
    const listing = client.list<Object>(resource, labelSelector === undefined ? {} : { labelSelector });
    return [...(await withProgress('reading the list', listing))];
  } finally {
    client.close();
  }
}

/** That many at a time: each waits for the hub. */
const atOnce = 8;

/**
 * Does the same to each target: to one as it is named; of several, people see which and are asked.
 * @param find - what the flags select where no names are given
 * @param what.verb - as it is asked for, such as `Approve`
 * @throws RollcallError USAGE where it is not said to what; what `act` throws where there is one target
 */
export async function actOnEach(
  names: readonly string[],
  flags: SeveralFlags,
  {
    find,
    verb,
    act,
  }: {
    find(): Promise<readonly Target[]>;
    readonly verb: string;
    act(target: Target): Promise<Outcome>;
  },
): Promise<void> {
  // An empty one is a variable that was not set: to the API server it means all.
  const hasSelector = (flags.selector ?? '').trim() !== '';
  const isSelecting = hasSelector || flags.allHeld === true;
  if (names.length > 0 === isSelecting)
    throw new RollcallError(
      'USAGE',
      'give names, or what to select by (--selector; of requests also --all-held), and not both',
    );
  const [only, ...more] = names;
  if (only !== undefined && more.length === 0) {
    printOutcome(await act(named(only)), flags.output);
    return;
  }
  const targets = isSelecting ? await find() : [...new Set(names)].map(named);
  if (targets.length === 0) {
    say('nothing is selected');
    return;
  }
  for (const { shown } of targets) say(`  - ${printable(shown)}`);
  const isSure = flags.yes === true || flags.dryRun === true;
  if (!isSure && !(await confirmed(`${verb} ${targets.length === 1 ? 'it' : `these ${targets.length}`}?`))) {
    say('nothing was done');
    process.exitCode = exitCodes.failed;
    return;
  }
  await actOnAll(targets, flags.output, act);
}

/** One that fails does not keep the others; the first failure gives the exit code. */
async function actOnAll(
  targets: readonly Target[],
  output: DoneFormat,
  act: (target: Target) => Promise<Outcome>,
): Promise<void> {
  const outcomes: Outcome[] = [];
  let failed = 0;
  const waiting = [...targets];
  async function work(): Promise<void> {
    for (let target = waiting.shift(); target; target = waiting.shift()) {
      try {
        const outcome = await act(target);
        outcomes.push(outcome);
        if (output === 'text') printOutcome(outcome, output);
      } catch (thrown) {
        const error = toRollcallError(thrown);
        say(printable(`error: ${target.shown}: ${error.message} (${error.code})`));
        if (failed++ === 0) process.exitCode = exitCodeOf(error);
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work));
  if (output !== 'text') printAll(outcomes, output);
  say(
    failed === 0
      ? `all ${targets.length} are done`
      : `${targets.length - failed} of ${targets.length} are done`,
  );
}

function printAll(outcomes: readonly Outcome[], output: Exclude<DoneFormat, 'text'>): void {
  const objects = outcomes.flatMap(({ object }) => (object ? [object] : []));
  const [resource] = outcomes.flatMap((outcome) => (outcome.resource ? [outcome.resource] : []));
  if (resource) printObjects(objects, { resource, isOne: false, output });
}
