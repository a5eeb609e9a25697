import { startConsole } from '@rollcall/console';
import { sayHub } from '../hub-access.ts';
import { portFlag } from '../port-flag.ts';
import { untilStopSignal } from '../stop-signal.ts';
import { printResult, say } from '../terminal/output.ts';
import type { ConsoleHubFlags } from './console-health.ts';
import { consoleHub } from './console-hub.ts';
import { openBrowser, ownBrowserCommand } from './open-browser.ts';

export interface ConsoleFlags extends ConsoleHubFlags {
  readonly port?: string;
  readonly open: boolean;
}

/**
 * `rollcall console`: serves the page until a signal.
 * @throws RollcallError USAGE, HUB_MISSING, KUBECONFIG_INVALID, KUBE_CONTEXT_UNKNOWN
 */
export async function runConsole(flags: ConsoleFlags): Promise<void> {
  const port = flags.port === undefined ? 0 : portFlag(flags.port);
  const hub = consoleHub(flags);
  sayHub(hub.client);
  const browser = flags.open ? ownBrowserCommand() : undefined;
  await using console = await startConsole(hub, { port, ownUserOnly: browser !== undefined });
  printResult(console.link);
  if (browser) openBrowser(browser, console.link);
  say('The link opens once, in one browser of this machine. Ctrl-C ends the console.');
  await untilStopSignal();
}
