/** A link that somebody wrote by hand may be no such text: then it is shown as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Where the person is: all of it stands in the URL, so that a reload and a link show the same. */
class Route {
  path = $state(location.pathname);
  query = $state.raw(new URLSearchParams(location.search));

  constructor() {
    addEventListener('popstate', () => this.#read());
    document.addEventListener('click', (event) => this.#follow(event));
  }

  get segments(): string[] {
    return this.path.split('/').filter(Boolean).map(decoded);
  }

  go(to: string): void {
    history.pushState(undefined, '', to);
    this.#read();
    scrollTo(0, 0);
  }

  /** Changes what is searched for; typing leaves no trail in the history of the browser. */
  set(name: string, value: string): void {
    const query = new URLSearchParams(this.query);
    if (value === '') query.delete(name);
    else query.set(name, value);
    const text = query.toString();
    history.replaceState(undefined, '', text === '' ? this.path : `${this.path}?${text}`);
    this.#read();
  }

  get(name: string): string {
    return this.query.get(name) ?? '';
  }

  #read(): void {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
  }

  #follow(event: MouseEvent): void {
    const isPlain =
      event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!isPlain || !link || link.target !== '' || link.origin !== location.origin) return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}

export const route = new Route();

/**
 * The page of a cluster, at the moment that is looked at.
 * @param id - who has the name at that moment: another cluster may have it now
 */
export function clusterPath(name: string, id?: string): string {
  const at = route.get('at');
  const then = at === '' ? '' : `?${new URLSearchParams({ at, ...(id === undefined ? {} : { id }) })}`;
  return `/clusters/${encodeURIComponent(name)}${then}`;
}
