import { RollcallError } from '../errors/index.ts';
import type { KubeClient, ListPage, PageOptions } from './kube-client.ts';
import type { KubeObject } from './objects.ts';
import type { Resource } from './resources.ts';

/**
 * A server may leave everything of a page out that was not asked for, and goes on (API conventions). One that does so again and again
 * has no end: it is broken, or has us ask for as long as it likes.
 */
const mostEmptyPages = 100;

/**
 * All pages of a list, one after the other.
 * @throws RollcallError KUBE_UNREACHABLE for a list that goes on without objects, or with the page that it has just given; else what
 *   `listPage` throws
 */
export async function* listPages<T extends KubeObject>(
  client: Pick<KubeClient, 'listPage'>,
  resource: Resource,
  options: PageOptions,
): AsyncGenerator<ListPage<T>, void, undefined> {
  let continueToken: string | undefined;
  let emptyPages = 0;
  do {
    const page: ListPage<T> = await client.listPage<T>(resource, { ...options, continueToken });
    if (page.items.length === 0) emptyPages++;
    const isAgain = page.continueToken !== undefined && page.continueToken === continueToken;
    if (isAgain || emptyPages > mostEmptyPages)
      throw new RollcallError('KUBE_UNREACHABLE', `the list of ${resource.plural} goes on without an end`);
    yield page;
    ({ continueToken } = page);
  } while (continueToken !== undefined);
}
