import { keysSecret, tokenSecret } from '../../services/agent-host/hosted-agent.ts';

/** One write that the API server has answered, from its audit log. */
export interface AuditWrite {
  readonly user: string;
  readonly verb: string;
  /** `plural` or `plural/subresource`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly code: number;
  readonly isDryRun: boolean;
  /** Path and query, as they were asked for. */
  readonly uri: string;
  /** What was sent; undefined where the audit log keeps metadata only. */
  readonly body: unknown;
  readonly receivedAtMs: number;
  readonly repliedAtMs: number;
}

/** Who wrote, and what it is counted as. */
export type WriteKind =
  /** By Rollcall, an object of one cluster: what a join costs. */
  | 'cluster'
  /** By Rollcall, status of a token or a set, which it coalesces over clusters. */
  | 'coalesced'
  /** By Rollcall, anything else. */
  | 'other'
  /** By Kubernetes itself. */
  | 'kubernetes'
  /** By people: here, the bench that makes tokens. */
  | 'people'
  /** Checked and not kept: the admission policies' probe. */
  | 'dry-run';

const ourUsers = 'system:serviceaccount:rollcall-system:';
const coalescedResources = new Set(['clusterregistrationtokens', 'managedclustersets']);
const clusterResources = new Set([
  'managedclusters',
  'clusterregistrationrequests',
  'namespaces',
  'serviceaccounts',
  'rolebindings',
  'secrets',
  'roles',
]);

interface AuditLine {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly requestObject?: unknown;
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

/** Reads an audit log; a last line that is still being written is left out. */
export function readAuditWrites(text: string): AuditWrite[] {
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return lines.filter(Boolean).map((line) => {
    const { verb, requestURI, user, objectRef = {}, ...rest } = JSON.parse(line) as AuditLine;
    const { resource = '', subresource, namespace = '', name = '' } = objectRef;
    return {
      user: user.username,
      verb,
      resource: subresource === undefined ? resource : `${resource}/${subresource}`,
      namespace,
      name,
      code: rest.responseStatus?.code ?? 0,
      isDryRun: requestURI.includes('dryRun='),
      uri: requestURI,
      body: rest.requestObject,
      receivedAtMs: timestampMs(rest.requestReceivedTimestamp),
      repliedAtMs: timestampMs(rest.stageTimestamp),
    };
  });
}

/** The API server writes microseconds, which Date drops. */
function timestampMs(text: string): number {
  const microseconds = /\.\d{3}(\d{3})Z$/.exec(text)?.[1] ?? '0';
  return Date.parse(text) + Number(microseconds) / 1000;
}

export function writeKindOf(write: AuditWrite): WriteKind {
  if (write.isDryRun) return 'dry-run';
  const [plural = ''] = write.resource.split('/');
  if (!write.user.startsWith(ourUsers)) return write.user.startsWith('system:') ? 'kubernetes' : 'people';
  if (coalescedResources.has(plural)) return 'coalesced';
  return clusterResources.has(plural) ? 'cluster' : 'other';
}

/**
 * Whether it is about this cluster: the bench gives a cluster's id, name and namespace the same text, and the agent host keeps the keys
 * of its members under names with their ids.
 */
export function isOfCluster({ name, namespace }: AuditWrite, cluster: string): boolean {
  return [cluster, keysSecret(cluster), tokenSecret(cluster)].includes(name) || namespace === cluster;
}
