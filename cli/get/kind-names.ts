import { RollcallError } from '@rollcall/shared/errors';
import { type Resource, resources } from '@rollcall/shared/kubernetes/resources';

/** What people type, as kubectl and other tools taught them. */
const kinds: readonly { readonly resource: Resource; readonly names: readonly string[] }[] = [
  {
    resource: resources.managedClusters,
    names: ['clusters', 'cluster', 'managedclusters', 'managedcluster', 'mcls', 'rcm'],
  },
  {
    resource: resources.clusterRegistrationRequests,
    names: [
      'requests',
      'request',
      'clusterregistrationrequests',
      'clusterregistrationrequest',
      'clsrr',
      'rcr',
    ],
  },
  {
    resource: resources.clusterRegistrationTokens,
    names: ['tokens', 'token', 'clusterregistrationtokens', 'clusterregistrationtoken', 'clsrt', 'rct'],
  },
  {
    resource: resources.approvalPolicies,
    names: ['policies', 'policy', 'approvalpolicies', 'approvalpolicy', 'apol', 'rcp'],
  },
  {
    resource: resources.managedClusterSets,
    names: ['sets', 'set', 'managedclustersets', 'managedclusterset', 'mclset', 'rcs'],
  },
];

/** The kind of that name, where there is one. */
export function findResource(text: string): Resource | undefined {
  const name = text.toLowerCase().replace(/\.rollcall\.dev$/, '');
  return kinds.find(({ names }) => names.includes(name))?.resource;
}

/** @throws RollcallError USAGE naming what there is */
export function resourceOfName(text: string): Resource {
  const found = findResource(text);
  if (found) return found;
  const known = kinds.map(({ names: [first] }) => first).join(', ');
  throw new RollcallError('USAGE', `"${text}" is no kind; there are ${known}`);
}
