/** Of a member, below the address of its hub. */
const memberPath = /^\/apis\/proxy\.rollcall\.dev\/v1alpha1\/managedclusters\/[a-z0-9-]+\/proxy\/?$/;

function urlOf(text: string): URL | undefined {
  const url = URL.parse(text);
  return url?.protocol === 'https:' && url.username === '' && url.search === '' ? url : undefined;
}

/** What else a ClusterProfile says of the way; the tool does as it says. */
export interface WayDetails {
  readonly 'proxy-url'?: unknown;
  readonly 'insecure-skip-tls-verify'?: unknown;
}

/** With a CA of its own in the profile as well, a proxy can be the hub to the tool, and is sent the token. */
function refusedDetail(way: WayDetails): string | undefined {
  const { 'proxy-url': proxy = '', 'insecure-skip-tls-verify': isUnverified = false } = way;
  if (proxy !== '' && proxy !== null)
    return 'the ClusterProfile leads through a proxy, which could read the token';
  if (isUnverified !== false) return 'the ClusterProfile would have nobody verify that it is the hub';
  return undefined;
}

/**
 * Why a token of the hub is not given for this address: it is no member's on that hub, or others could read it on the way. Undefined: it is.
 * @param server - where the tool is about to go, as the ClusterProfile says
 */
export function refusedWay(
  server: string | undefined,
  hub: string | undefined,
  details: WayDetails = {},
): string | undefined {
  if (server === undefined)
    return 'the tool does not say where it goes: its configuration of the plugin needs provideClusterInfo: true';
  if (hub === undefined) return 'it is not known where the hub is: give --hub https://HOST:PORT';
  const [to, at] = [urlOf(server), urlOf(hub)];
  const base = at?.pathname.replace(/\/$/, '');
  const isMember =
    to !== undefined &&
    base !== undefined &&
    to.origin === at?.origin &&
    to.pathname.startsWith(base) &&
    memberPath.test(to.pathname.slice(base.length));
  if (isMember) return refusedDetail(details);
  return `the ClusterProfile leads to "${server}", which is no member of the hub at "${hub}"; where this is the hub's address as well, give --hub`;
}

/** When a token ends, as it says itself; undefined: it does not. */
export function endOfToken(token: string): string | undefined {
  try {
    const [, claims = ''] = token.split('.');
    const { exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { exp?: unknown };
    return typeof exp === 'number' ? new Date(exp * 1000).toISOString() : undefined;
  } catch {
    return undefined;
  }
}
