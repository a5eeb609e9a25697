import { type TokenDesk, tokenPlace, type TokenRow } from '@rollcall/console';
import { chartValues, readHubInfo, registerCommand } from '@rollcall/shared/hub';
import type { KubeClient, StoredObject } from '@rollcall/shared/kubernetes';
import { annotations, type ClusterRegistrationToken, namespaces } from '@rollcall/shared/resources';
import { tokenObject, tokens, untilTaken } from '../token/declare-token.ts';
import { termsText, tokenTerms } from '../token/token-spec.ts';

type Token = StoredObject<ClusterRegistrationToken & { metadata: object }>;

function tokenRow({ metadata, spec, status }: Token): TokenRow {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const { clusterName, clientId, labels, allowLabels, clusterSet, description } = spec ?? {};
  const optional = {
    expires: status?.expires,
    by: metadata.annotations?.[annotations.changedBy],
    clusterName,
    clientId,
    labels,
    allowLabels,
    clusterSet,
    description,
  };
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    uses: spec?.uses ?? 1,
    used: status?.used ?? 0,
    madeAtMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    isReady: ready?.status === 'True',
    reason: ready?.reason ?? 'not looked at yet',
    message: ready?.message ?? '',
    isPublished: spec?.publish ?? false,
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  };
}

/** Tokens for the console: what `token list`, `token create` and `token delete` do, but for the token itself, which a browser makes. */
export function consoleTokens(client: KubeClient): TokenDesk {
  return {
    async hubId() {
      return (await readHubInfo(client)).hubId;
    },
    async list() {
      const found = await client.list<ClusterRegistrationToken & { metadata: object }>(tokens);
      return found.map(tokenRow);
    },
    async make({ publicKey, name, ...flags }) {
      const terms = tokenTerms(flags);
      const hub = await readHubInfo(client);
      const object = tokenObject({ name, namespace: namespaces.join, publicKey }, terms);
      const made = await client.create(tokens, object, { strict: true });
      const taken = await untilTaken(client, made, () => undefined);
      const { clusterName, clientId } = terms;
      return {
        namespace: namespaces.join,
        name: made.metadata.name,
        terms: termsText(terms, taken?.status?.expires),
        isTaken: taken !== undefined,
        command: registerCommand(hub, { token: tokenPlace, clusterName, clientId }),
        values: chartValues(hub, { text: tokenPlace, clusterName, clientId }),
      };
    },
    async revoke({ namespace, name, uid }) {
      // Of the very object that was shown: another one may have got its name meanwhile.
      await client.delete(tokens, name, { namespace, preconditions: { uid } });
      return `token ${namespace}/${name} is deleted`;
    },
  };
}
