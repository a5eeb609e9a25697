import { createAdaptorServer } from '@hono/node-server';
import type { Action, ClusterPage } from '../rows/index.ts';
import { admitOneBrowser } from './access/one-browser.ts';
import { createOneTimeLink } from './access/one-time-link.ts';
import type { ConsoleApp, DescribeHow } from './console-routes.ts';
import type { HealthDesk } from './health/health-routes.ts';
import { listenOn } from './listen-on.ts';
import { watchHub, type WatchedHub } from './live/watch-hub.ts';
import { pageFiles } from './page-files.ts';
import { createPersonConsole, type PersonConsole } from './console-of-person.ts';
import type { PolicyDesk } from './policies/policy-routes.ts';
import type { TokenDesk } from './tokens/token-routes.ts';
import type { ReadPast } from './past/past-stream.ts';

/** The hub, with the rights of one person, by the same code as the command line. */
export interface ConsoleHub extends WatchedHub {
  /** Who the kubeconfig makes the person, to the API server. */
  person(): Promise<string | undefined>;
  describe(target: string, how: DescribeHow): Promise<ClusterPage>;
  readPast: ReadPast;
  readonly policies: PolicyDesk;
  readonly tokens: TokenDesk;
  readonly health: HealthDesk;
  readEvent(sequence: number): Promise<object | undefined>;
  readEvents: ConsoleApp['readEvents'];
  act(action: Action): Promise<string>;
}

export interface RunningConsole extends AsyncDisposable {
  /** Opens once. */
  readonly link: string;
}

const loopback = '127.0.0.1';

/**
 * Serves the page on loopback, for one browser. The hub is watched from when the link is opened on: who does not look costs nothing.
 * The client of the hub is closed with the console.
 * @param how.port - 0: any that is free
 * @param how.ownUserOnly - whether the link opens for the user of this process alone, where the system says who asks
 * @param how.watch - what keeps the snapshot as the hub is
 * @throws RollcallError USAGE where the page was not built, or the port is taken
 */
export async function startConsole(
  hub: ConsoleHub,
  {
    port = 0,
    ownUserOnly = false,
    watch = watchHub,
  }: { port?: number; ownUserOnly?: boolean; watch?: typeof watchHub } = {},
): Promise<RunningConsole> {
  await using started = new AsyncDisposableStack();
  started.defer(() => hub.client.close());
  const files = await pageFiles();
  let own: PersonConsole | undefined;
  const link = createOneTimeLink(() => own?.begin());
  const server = createAdaptorServer({ fetch: (request, env) => own?.app.fetch(request, env) ?? notYet() });
  started.defer(() => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
  const authority = `${loopback}:${await listenOn(server, { address: loopback, port })}`;
  own = createPersonConsole(hub, {
    files,
    watch,
    admit: (app) => admitOneBrowser(app, { authority, link, ownUserOnly }),
  });
  started.use(own);
  const running = started.move();
  return {
    link: `http://${authority}/open?key=${link.key}`,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const notYet = (): Response => new Response(undefined, { status: 503 });
