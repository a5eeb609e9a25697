import type { AddressInfo } from 'node:net';
import { createAdaptorServer, type ServerType } from '@hono/node-server';
import type { Hono } from 'hono';
import { RollcallError } from '@rollcall/shared/errors';
import type { Action, ClusterPage, HubRow } from '../rows.ts';
import { createOneTimeLink } from './access/one-time-link.ts';
import { createConsoleApp, type DescribeHow } from './console-app.ts';
import { createLiveSnapshot, type LiveSnapshot } from './live/live-snapshot.ts';
import { watchHub, type WatchedHub } from './live/watch-hub.ts';
import { readPageFiles } from './page-files.ts';
import type { PolicyDesk } from './policies/policy-routes.ts';
import type { ReadPast } from './past/past-stream.ts';

/** The hub, with the rights of one person, by the same code as the command line. */
export interface ConsoleHub extends WatchedHub {
  /** Who the kubeconfig makes the person, to the API server. */
  person(): Promise<string | undefined>;
  describe(target: string, how: DescribeHow): Promise<ClusterPage>;
  readPast: ReadPast;
  readonly policies: PolicyDesk;
  readEvent(sequence: number): Promise<object | undefined>;
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
 * @param how.watch - what keeps the snapshot as the hub is
 * @throws RollcallError USAGE where the page was not built, or the port is taken
 */
export async function startConsole(
  hub: ConsoleHub,
  { port = 0, watch = watchHub }: { port?: number; watch?: typeof watchHub } = {},
): Promise<RunningConsole> {
  await using started = new AsyncDisposableStack();
  started.defer(() => hub.client.close());
  const files = await readPageFiles();
  if (!files)
    throw new RollcallError('USAGE', 'the page of the console is not built here: run `npm run build` first');
  const snapshot = createLiveSnapshot(unheardHub(hub));
  const ending = new AbortController();
  const { signal } = ending;
  let watching: Promise<void> | undefined;
  const link = createOneTimeLink(() => {
    watching = watch(hub, snapshot, signal);
    void namePerson(hub, snapshot);
  });
  started.defer(async () => {
    ending.abort();
    await watching;
    snapshot.stop();
  });

  let app: Hono | undefined;
  const server = createAdaptorServer({ fetch: (request) => app?.fetch(request) ?? notYet() });
  started.defer(() => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
  const authority = `${loopback}:${await listen(server, port)}`;
  app = createConsoleApp({ ...hub, authority, link, files, snapshot, signal });
  const running = started.move();
  return {
    link: `http://${authority}/open?key=${link.key}`,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const notYet = (): Response => new Response(undefined, { status: 503 });

function unheardHub({ client }: ConsoleHub): HubRow {
  const { server, contextName: context, userName: person } = client.access;
  const unheard = { isHeard: false };
  return { server, context, person, kubernetes: unheard, history: unheard };
}

/** The label of the kubeconfig stands there until then; that the hub is away is said by the watch. */
async function namePerson(hub: ConsoleHub, snapshot: LiveSnapshot): Promise<void> {
  const person = await hub.person().catch(() => undefined);
  if (person !== undefined) snapshot.putHub({ person });
}

/** @returns the port */
function listen(server: ServerType, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new RollcallError('USAGE', `port ${port} of ${loopback} cannot be had`, { cause })),
    );
    server.listen(port, loopback, () => resolve((server.address() as AddressInfo).port));
  });
}
