const group = 'proxy.rollcall.dev';
const groupVersion = `${group}/v1alpha1`;
const version = { groupVersion, version: 'v1alpha1' };

const resource = (name: string, verbs: readonly string[]) => ({
  name,
  singularName: '',
  namespaced: false,
  kind: 'ManagedCluster',
  verbs,
});

const apiGroup = {
  kind: 'APIGroup',
  apiVersion: 'v1',
  name: group,
  versions: [version],
  preferredVersion: version,
};

/** What an aggregated API says of itself; polled by API servers and by every kubectl. */
const documents: Readonly<Record<string, object>> = {
  [`/apis/${group}`]: apiGroup,
  [`/apis/${groupVersion}`]: {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion,
    resources: [
      // `kubectl create clusterrole --resource=` asks for the resource itself as well. It has nothing to list.
      resource('managedclusters', ['get']),
      resource('managedclusters/proxy', ['create', 'delete', 'get', 'patch', 'update']),
    ],
  },
};

/** @param path - without its query */
export function apiDocument(path: string): object | undefined {
  return Object.hasOwn(documents, path) ? documents[path] : undefined;
}

const proxied = new RegExp(
  `^/apis/${groupVersion}/managedclusters/([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)/proxy(/.*|[?].*|)$`,
);

/**
 * Which member a request is for, and what it asks there.
 * @param url - as it stands in the request, with its query
 * @returns undefined for one that is for none
 */
export function memberPath(url: string): { readonly name: string; readonly path: string } | undefined {
  const [, name, , rest = ''] = proxied.exec(url) ?? [];
  if (name === undefined) return undefined;
  return { name, path: rest.startsWith('/') ? rest : `/${rest}` };
}
