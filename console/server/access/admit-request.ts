/** What a request says of itself; a browser lets no page of another origin change these. */
export interface RequestFacts {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`: who made the browser ask. */
  readonly fetchSite: string | undefined;
  readonly hasSession: boolean;
  /** The way in: nobody has a session there yet. */
  readonly isEntrance: boolean;
}

const reads: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Whether the server answers at all. The list is in order: who names another host learns nothing about sessions.
 * @param authority - `127.0.0.1:PORT`, the only name of this server: a name that somebody's DNS turns to loopback is refused
 * @returns why not
 */
export function refusalOf(request: RequestFacts, authority: string): string | undefined {
  const { method, host, origin, fetchSite, hasSession, isEntrance } = request;
  if (host !== authority) return 'this console is asked by another name than its own';
  if (origin !== undefined && origin !== `http://${authority}`) return 'a page of another origin asks';
  if (!reads.has(method) && origin === undefined) return 'an action has to say from which page it comes';
  if (isEntrance) return undefined;
  if (fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none')
    return 'a page of another origin asks';
  if (!hasSession) return 'this browser has not opened the link of this console';
  return undefined;
}
