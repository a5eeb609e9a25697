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

/** The one name of a console. A name that somebody's DNS turns to its address is another one. */
export interface ConsoleName {
  /** As a browser says it in `Host`: `127.0.0.1:PORT`, or the public name. */
  readonly authority: string;
  readonly origin: string;
}

const reads: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Whether the server answers at all. The list is in order: who names another host learns nothing about sessions.
 * @returns why not
 */
export function refusalOf(request: RequestFacts, name: ConsoleName): string | undefined {
  const { method, host, origin, fetchSite, hasSession, isEntrance } = request;
  if (host !== name.authority) return 'this console is asked by another name than its own';
  if (origin !== undefined && origin !== name.origin) return 'a page of another origin asks';
  if (!reads.has(method) && origin === undefined) return 'an action has to say from which page it comes';
  if (isEntrance) return undefined;
  if (fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none')
    return 'a page of another origin asks';
  if (!hasSession) return 'this browser has not opened the link of this console';
  return undefined;
}
