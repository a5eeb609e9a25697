import { createServer } from 'node:https';
import { createAdaptorServer } from '@hono/node-server';
import { type Logger, servingCertificate } from '@rollcall/shared/service';
import { listenOn } from '../listen-on.ts';
import { pageFiles } from '../page-files.ts';
import type { ConsoleHub } from '../start-console.ts';
import { createServedApp } from './served-app.ts';
import type { SessionLimits } from './session-rules.ts';
import { createSessions } from './sessions.ts';

export interface ServedConsoleOptions {
  readonly publicHost: string;
  readonly isBehindProxy: boolean;
  readonly address: string;
  readonly port: number;
  readonly certFile: string;
  readonly keyFile: string;
  readonly limits: SessionLimits;
  readonly logger: Logger;
  /** The hub, as the person of that token. */
  openHub(token: string): ConsoleHub;
}

export interface ServedConsole extends AsyncDisposable {
  readonly port: number;
}

/**
 * Serves the console to people who sign in, by TLS only. It has no right of its own: what it reads and does, it reads and does with
 * the token of who asks.
 * @throws RollcallError USAGE, CONFIG_INVALID
 */
export async function serveConsole(options: ServedConsoleOptions): Promise<ServedConsole> {
  await using started = new AsyncDisposableStack();
  const { publicHost, isBehindProxy, address, port, openHub, limits, logger } = options;
  const files = await pageFiles();
  const signIn = isBehindProxy ? 'proxy' : 'form';
  const sessions = started.use(createSessions({ openHub, files, signIn, limits, logger }));
  const app = createServedApp({ publicHost, isBehindProxy, sessions });
  const certificate = started.use(
    servingCertificate(options, {
      show: (pair) => 'setSecureContext' in server && server.setSecureContext(pair),
      logger,
    }),
  );
  const server = createAdaptorServer({
    fetch: app.fetch,
    createServer,
    serverOptions: { ...certificate.now(), maxHeaderSize: 65_536 },
  });
  started.defer(() => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
  const listening = await listenOn(server, { address, port });
  const running = started.move();
  return { port: listening, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
