import type { TokenDeclaration } from '@rollcall/shared/events';
import { chartValues, type HubInfo, registerCommand } from '@rollcall/shared/hub';
import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
  type KubeClient,
  type KubeObject,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import { RollcallError } from '@rollcall/shared/errors';
import { labels, namespaces } from '@rollcall/shared/resources';
import { createRegistrationToken, parseRegistrationToken } from '@rollcall/shared/trust';
import { parseBoundedYaml } from '@rollcall/shared/config/bounded-yaml';

type Kube = Pick<KubeClient, 'get' | 'create' | 'mergePatch' | 'delete'>;
type Asked = Pick<TokenDeclaration, 'namespace' | 'name' | 'uid' | 'clusterName' | 'clientId'>;

interface Secret extends KubeObject {
  readonly type?: string;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly data?: Readonly<Record<string, string>>;
}

/** Which object a Secret was made for, and the public half of what is in it: read again after a crash, never believed of others. */
const marks = { tokenUid: 'rollcall.dev/token-uid', publicKey: 'rollcall.dev/public-key' } as const;

const madeByUs = 'rbac-provisioner';

/** The Secret of a token, whoever of us made it. */
export interface PublishedSecret {
  readonly uid: string;
  readonly publicKey: string;
}

/** Why it cannot be made, where trying again would not help; `reason` is the event's. */
export interface PublicationFailure {
  readonly reason: 'SecretTaken' | 'Refused';
  readonly code: 'SECRET_TAKEN' | 'KUBE_API';
  readonly message: string;
}

/** What the Secret hands out. */
function wordsOf(
  { clusterName, clientId }: Asked,
  hub: HubInfo,
  text: string,
): Record<'values' | 'command', string> {
  return {
    values: chartValues(hub, { text, clusterName, clientId }),
    command: registerCommand(hub, { token: text, clusterName, clientId }),
  };
}

function secretOf(asked: Asked, hub: HubInfo): Secret {
  const { namespace, name, uid } = asked;
  const token = createRegistrationToken(hub.hubId);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace,
      labels: { [labels.createdBy]: madeByUs },
      annotations: { [marks.tokenUid]: uid, [marks.publicKey]: token.key.publicKey },
    },
    type: 'Opaque',
    stringData: wordsOf(asked, hub, token.text),
  };
}

function unfinished({ namespace, name }: Asked): RollcallError {
  const message = `the Secret "${namespace}/${name}" of an earlier token is being removed`;
  return new RollcallError('SECRET_UNFINISHED', message);
}

/** @returns undefined where there is none, `foreign` where it is not ours */
async function look(
  kube: Kube,
  { namespace, name }: Asked,
): Promise<StoredObject<Secret> | 'foreign' | undefined> {
  const found = await kube.get<Secret>(resources.secrets, { name, namespace });
  return found && found.metadata.labels?.[labels.createdBy] !== madeByUs ? 'foreign' : found;
}

type Seen = Awaited<ReturnType<typeof look>> | 'unseen';

/** @returns `unseen` where the hub may not look: a namespace that is none of tokens, or is none any more */
async function lookWhereAllowed(kube: Kube, asked: Asked): Promise<Seen> {
  try {
    return await look(kube, asked);
  } catch (error) {
    if (!isForbidden(error) || asked.namespace === namespaces.join) throw error;
    return 'unseen';
  }
}

const isOf = (found: Seen, { uid }: Asked): found is StoredObject<Secret> =>
  typeof found === 'object' && found.metadata.annotations?.[marks.tokenUid] === uid;

/** Removes this very Secret; another one of its name, and one that is not ours, stays. */
async function removeThe(kube: Kube, { namespace, name }: Asked, uid: string): Promise<void> {
  try {
    await kube.delete(resources.secrets, name, { namespace, preconditions: { uid } });
  } catch (error) {
    if (!isConflict(error) && !isForbidden(error)) throw error;
  }
}

/** Another replica that makes the same wins once; who puts another one in its place again and again is told of. */
const mostReplacements = 3;

const taken = ({ namespace, name }: Asked, why: string): PublicationFailure => ({
  reason: 'SecretTaken',
  code: 'SECRET_TAKEN',
  message: `the Secret "${namespace}/${name}" ${why}`,
});

/** @returns `gone` where it was gone by then, `removed` where it was of an earlier token */
async function takeOver(
  kube: Kube,
  asked: Asked,
): Promise<PublishedSecret | PublicationFailure | 'gone' | 'removed'> {
  const found = await look(kube, asked);
  if (found === 'foreign') return taken(asked, "exists and is not the hub's; it is left alone");
  if (!found) return 'gone';
  const { uid, annotations = {} } = found.metadata;
  const publicKey = annotations[marks.publicKey];
  // A replica, or we ourselves before a crash, made it and did not come to tell. Whoever may write Secrets there can name any key: only
  // who made the token has what is in it.
  if (isOf(found, asked) && publicKey !== undefined && tokenIn(found) !== undefined)
    return { uid, publicKey };
  await removeThe(kube, asked, uid);
  return 'removed';
}

/** @throws what trying again may help against */
function refusedBy(error: unknown, { namespace }: Asked): PublicationFailure {
  // No join namespace, by RBAC or by the admission policies: it stays so until a person changes something.
  if (!isForbidden(error) && !isInvalid(error) && !isNotFound(error)) throw error;
  const where =
    namespace === namespaces.join
      ? ''
      : `the hub may write no Secret in namespace "${namespace}": make the token in ${namespaces.join}, or have that namespace among the hub's tokenNamespaces. `;
  return { reason: 'Refused', code: 'KUBE_API', message: `${where}${(error as Error).message}` };
}

/**
 * Makes the Secret of a token, with a token in it that nobody else has ever seen. Of two that try, the Secret itself says who
 * was first: the other one takes over what is there. One that cannot be removed is told of: tried for ever, a thousand of them would
 * stop everything else that the provisioner has to do.
 * @throws RollcallError SECRET_UNFINISHED, KUBE_UNREACHABLE, and KUBE_API for the server's own trouble: try again
 */
export async function makeSecret(
  kube: Kube,
  asked: Asked,
  hub: HubInfo,
): Promise<PublishedSecret | PublicationFailure> {
  const secret = secretOf(asked, hub);
  for (let attempt = 1; ; attempt++) {
    try {
      const made = await kube.create<Secret>(resources.secrets, secret);
      return { uid: made.metadata.uid, publicKey: secret.metadata.annotations?.[marks.publicKey] ?? '' };
    } catch (error) {
      if (!isAlreadyExists(error)) return refusedBy(error, asked);
    }
    const found = await takeOver(kube, asked);
    if (typeof found === 'object') return found;
    if (attempt < mostReplacements) continue;
    if (found === 'gone') throw unfinished(asked);
    return taken(asked, 'of an earlier token is there again after its removal, or still');
  }
}

/** The token in a Secret of ours; undefined where a person has put something else there. */
function tokenIn({ metadata, data }: StoredObject<Secret>): string | undefined {
  try {
    const values = Buffer.from(data?.['values'] ?? '', 'base64').toString('utf8');
    const { token } = parseBoundedYaml(values) as { token: string };
    const isOurs = parseRegistrationToken(token).key.publicKey === metadata.annotations?.[marks.publicKey];
    return isOurs ? token : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Has the Secret hand out what the token says now; the token in it stays.
 * @throws RollcallError KUBE_UNREACHABLE, KUBE_API
 */
export async function rewordSecret(kube: Kube, asked: Asked, hub: HubInfo): Promise<void> {
  const found = await lookWhereAllowed(kube, asked);
  if (!isOf(found, asked)) return;
  const text = tokenIn(found);
  if (text === undefined) return;
  const words = wordsOf(asked, hub, text);
  const isSaid = Object.entries(words).every(
    ([key, said]) => found.data?.[key] === Buffer.from(said).toString('base64'),
  );
  if (isSaid) return;
  // Of that version: another replica may have removed it, and a newer token of the same name has taken its place.
  const { namespace, name } = asked;
  const { resourceVersion } = found.metadata;
  await kube.mergePatch<Secret>(
    resources.secrets,
    name,
    { metadata: { resourceVersion }, stringData: words },
    { namespace },
  );
}

/**
 * Whether the Secret of a token is there: the one that was told of, or one that carries the mark of the same token. Where nobody may look
 * any more, nothing is known of it, and nothing is told.
 * @throws RollcallError KUBE_UNREACHABLE, KUBE_API
 */
export async function hasSecret(kube: Kube, asked: Asked, secretUid: string | undefined): Promise<boolean> {
  const found = await lookWhereAllowed(kube, asked);
  if (found === 'unseen') return true;
  if (!found || found === 'foreign') return false;
  return found.metadata.uid === secretUid || found.metadata.annotations?.[marks.tokenUid] === asked.uid;
}

/** @param secretUid - as it was told; undefined: nobody told, so what carries this token's mark goes */
export async function removeSecret(kube: Kube, asked: Asked, secretUid: string | undefined): Promise<void> {
  if (secretUid !== undefined) return removeThe(kube, asked, secretUid);
  const found = await lookWhereAllowed(kube, asked);
  if (!isOf(found, asked)) return;
  await removeThe(kube, asked, found.metadata.uid);
}
