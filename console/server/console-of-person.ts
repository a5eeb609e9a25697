import type { Hono } from 'hono';
import type { HubRow } from '../rows/index.ts';
import { createConsoleApp } from './console-routes.ts';
import { createLiveSnapshot, type LiveSnapshot } from './live/live-snapshot.ts';
import { watchHub } from './live/watch-hub.ts';
import type { PageFile } from './page-files.ts';
import type { ConsoleHub } from './start-console.ts';

export interface PersonConsoleOptions {
  readonly files: ReadonlyMap<string, PageFile>;
  /** What keeps the snapshot as the hub is. */
  readonly watch?: typeof watchHub;
  readonly signIn?: HubRow['signIn'];
  /** Puts before everything else who is answered at all. */
  admit(app: Hono): void;
}

/** What one person sees and does: a snapshot of their own, kept by watches with their rights. */
export interface PersonConsole extends AsyncDisposable {
  readonly app: Hono;
  /** How many pages listen now. */
  openPages(): number;
  /** From here on the hub is watched. */
  begin(): void;
}

/** The client of the hub outlives it. */
export function createPersonConsole(hub: ConsoleHub, options: PersonConsoleOptions): PersonConsole {
  const { files, watch = watchHub, signIn = 'kubeconfig', admit } = options;
  const snapshot = createLiveSnapshot(unheardHub(hub, signIn));
  const ending = new AbortController();
  const { signal } = ending;
  let watching: Promise<void> | undefined;
  let openPages = 0;
  const counted: LiveSnapshot = {
    ...snapshot,
    async *follow(lastId, ofPage) {
      openPages++;
      try {
        yield* snapshot.follow(lastId, ofPage);
      } finally {
        openPages--;
      }
    },
  };
  return {
    app: createConsoleApp({ ...hub, files, snapshot: counted, signal }, admit),
    openPages: () => openPages,
    begin() {
      watching = watch(hub, snapshot, signal);
      void namePerson(hub, snapshot);
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await watching;
      snapshot.stop();
    },
  };
}

function unheardHub({ client }: ConsoleHub, signIn: HubRow['signIn']): HubRow {
  const { server, contextName: context, userName: person } = client.access;
  const unheard = { isHeard: false };
  return { server, context, person, signIn, kubernetes: unheard, history: unheard };
}

/** The label of the kubeconfig stands there until then; that the hub is away is said by the watch. */
async function namePerson(hub: ConsoleHub, snapshot: LiveSnapshot): Promise<void> {
  const person = await hub.person().catch(() => undefined);
  if (person !== undefined) snapshot.putHub({ person });
}
