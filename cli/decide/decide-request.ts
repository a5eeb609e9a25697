import { RollcallError } from '@rollcall/shared/errors';
import { isForbidden, type KubeClient, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import { timeoutFlagMs } from '../duration-flag.ts';
import type { DoneFormat, Outcome } from '../get/print-objects.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { say } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import { wasRefusedUnjudged } from '../request-of-name.ts';
import { waitForObject } from '../wait-for-object.ts';
import { actedOrHeld } from '../operations/acted-or-held.ts';
import { failsAsBefore, isAnswer } from './decision-outcome.ts';
import { findRequest, type RequestObject, type RequestStatus, type StoredRequest } from './find-request.ts';
import { refuseChanged } from './refuse-changed.ts';
import { userName } from './user-name.ts';

export interface DecideFlags extends HubFlags {
  /** The target is an id, whatever has it as a name. */
  readonly id?: boolean;
  readonly reason?: string;
  /** Of the key that is to take the place of the known one. */
  readonly replaceKey?: string;
  /** The one that asked when the person looked. */
  readonly seenKey?: string;
  readonly timeout: string;
  readonly dryRun?: boolean;
  readonly output: DoneFormat;
}

const resource = resources.clusterRegistrationRequests;

/** What each verb asks for, and how the hub says that it is so. */
const verdicts = {
  approve: { verdict: 'Approve', type: 'approved', results: ['Approved', 'Failed'], done: 'Approved' },
  deny: { verdict: 'Deny', type: 'denied', results: ['Denied'], done: 'Denied' },
} as const;

/**
 * Decides about a request as the person of the kubeconfig, and waits until the hub has acted.
 * @throws RollcallError NOT_FOUND, USAGE, ACCEPT_FORBIDDEN, DECISION_CHANGED, REQUEST_FAILED, DEADLINE_EXCEEDED; KubeApiError
 */
export async function decideRequest(
  verb: keyof typeof verdicts,
  target: string,
  flags: DecideFlags,
): Promise<Outcome> {
  const timeoutMs = timeoutFlagMs(flags.timeout);
  const client = openHub(flags);
  try {
    sayHub(client);
    const command = `rollcall ${verb}`;
    const finding = findRequest(client, target, { command, isId: flags.id ?? false });
    const request = await withProgress('looking for the request', finding);
    const { clusterName, keyFingerprint, knownKeyFingerprint } = request.spec;
    say(`request: cluster "${clusterName}" (${request.metadata.name}), key ${keyFingerprint}`);
    refuseOtherKey(keyFingerprint, flags.seenKey);
    if (knownKeyFingerprint !== undefined) say(`known key of this cluster: ${knownKeyFingerprint}`);
    if (request.status?.result === verdicts[verb].done) {
      const words = `cluster "${clusterName}" is ${verdicts[verb].done.toLowerCase()} already: ${wordsOf(request.status)}`;
      return { words, object: request, resource };
    }
    const wasRefused = wasRefusedUnjudged(request.status);
    if (wasRefused && verb === 'approve')
      throw new RollcallError(
        'REQUEST_FAILED',
        `cluster "${clusterName}" was refused before anybody could decide, so there is nothing to approve: ${wordsOf(request.status)}`,
      );
    refuseUnnamedReplacement(request, verb, { replaceKey: flags.replaceKey, target: typed(target, flags) });
    await withProgress('writing the decision', writeDecision(client, request, { verb, flags }));
    if (flags.dryRun)
      return { words: 'you may decide this (dry run; nothing was changed)', isNothingDone: true };
    // The hub acts on it only once there is something to decide.
    if (wasRefused) {
      const words = `cluster "${clusterName}" was refused already; your denial counts if this key is heard again`;
      return { words, object: request, resource };
    }
    const decided = await untilActedOn(client, request, { verb, timeoutMs });
    const words = `cluster "${clusterName}" is ${verdicts[verb].done.toLowerCase()}: ${wordsOf(decided.status)}`;
    return { words, object: decided, resource };
  } finally {
    client.close();
  }
}

const typed = (target: string, { id = false }: DecideFlags) => (id ? `--id ${target}` : target);

/** Who replaces a key says which one, after comparing both with what the agents print. */
function refuseUnnamedReplacement(
  { spec }: StoredRequest,
  verb: keyof typeof verdicts,
  { replaceKey, target }: { replaceKey: string | undefined; target: string },
): void {
  const { clusterName, keyFingerprint, knownKeyFingerprint } = spec;
  const isReplacement = verb === 'approve' && knownKeyFingerprint !== undefined;
  if (replaceKey === undefined && isReplacement) {
    throw new RollcallError(
      'USAGE',
      `cluster "${clusterName}" is known under the key ${knownKeyFingerprint}; if ${keyFingerprint} is what its agent prints: rollcall approve ${target} --replace-key ${keyFingerprint}`,
    );
  }
  if (replaceKey === undefined) return;
  if (!isReplacement) throw new RollcallError('USAGE', `no other key asks for cluster "${clusterName}"`);
  refuseOtherKey(keyFingerprint, replaceKey);
}

function refuseOtherKey(asks: string, named: string | undefined): void {
  if (named !== undefined && named !== asks)
    throw new RollcallError('USAGE', `the key that asks is ${asks}, not "${named}"`);
}

async function writeDecision(
  client: KubeClient,
  request: StoredRequest,
  { verb, flags }: { verb: keyof typeof verdicts; flags: DecideFlags },
): Promise<void> {
  const { keyFingerprint, decision } = request.spec;
  const { verdict } = verdicts[verb];
  const reason = flags.reason ?? null;
  if (
    decision?.verdict === verdict &&
    decision.keyFingerprint === keyFingerprint &&
    (decision.reason ?? null) === reason
  ) {
    throw new RollcallError(
      'USAGE',
      `this very decision was made before and counted once (now: ${wordsOf(request.status)}); give another --reason`,
    );
  }
  // Name and key are typed for people by API servers from 1.36 on; below, the admission policies want them from us.
  const patch = { spec: { decision: { verdict, keyFingerprint, reason, by: await userName(client) } } };
  const { name } = request.metadata;
  const dryRun = flags.dryRun ?? false;
  let stored: RequestObject;
  try {
    stored = await client.mergePatch<RequestObject>(resource, name, patch, { dryRun, strict: true });
  } catch (cause) {
    if (!isForbidden(cause)) throw cause;
    throw new RollcallError('ACCEPT_FORBIDDEN', cause.message, { cause });
  }
  refuseChanged({ verdict, keyFingerprint }, stored.spec?.decision);
}

function wordsOf(status: RequestStatus | undefined): string {
  const { result = 'Pending', reason = '', message = '' } = status ?? {};
  return printable([result, reason, message].filter((text) => text !== '').join(', '));
}

async function untilActedOn(
  client: KubeClient,
  request: StoredRequest,
  { verb, timeoutMs }: { verb: keyof typeof verdicts; timeoutMs: number },
): Promise<StoredObject<RequestObject>> {
  const { name } = request.metadata;
  const { clusterName } = request.spec;
  const results: readonly string[] = verdicts[verb].results;
  let seen = request.status;
  const untilDecided = (signal: AbortSignal) => {
    const on = { resource, name, timeoutMs, signal };
    return waitForObject<RequestObject>(client, on, ({ status }) => {
      seen = status ?? seen;
      return isAnswer(request.status, status, results);
    });
  };
  // Denying a member puts it out, and so does another key for it.
  const on = { clusterId: request.spec.clusterId, type: verdicts[verb].type, timeoutMs };
  const decided = await withProgress(
    'waiting for the hub to act on it',
    actedOrHeld(client, on, untilDecided),
  );
  if (!decided && failsAsBefore(request.status, seen)) {
    throw new RollcallError('REQUEST_FAILED', `cluster "${clusterName}" fails as before: ${wordsOf(seen)}`);
  }
  if (!decided) {
    throw new RollcallError(
      'DEADLINE_EXCEEDED',
      `your decision is written, and the hub has not acted on it within ${timeoutMs / 1000} s (now: ${wordsOf(seen)})`,
    );
  }
  if (decided.status?.result === 'Failed') {
    throw new RollcallError('REQUEST_FAILED', `cluster "${clusterName}": ${wordsOf(decided.status)}`);
  }
  return decided;
}
