import { portFlag } from '../port-flag.ts';
import { stateDirectory } from '../state-directory.ts';
import { checkStatePlace } from '../state-place.ts';
import { up } from '../up/main.ts';
import { tokenNamespacesFlag } from '../up/token-namespaces.ts';
import { serverCountFlag } from '../up/state/nats-servers-of.ts';

/** For what is said at the end to be written. */
const endsWithinMs = 1000;

export interface UpFlags {
  readonly advertise?: string[];
  readonly websocket?: string;
  readonly port?: string;
  readonly servers?: string;
  readonly tokenNamespaces?: string;
  /** False with `--no-agent`. */
  readonly agent: boolean;
}

/** @throws RollcallError USAGE for a port that is none, and what `up` throws */
export async function runUp(flags: UpFlags): Promise<void> {
  try {
    const stateDir = stateDirectory();
    checkStatePlace(stateDir);
    process.exitCode = await up({
      stateDir,
      ...(flags.port === undefined ? {} : { port: portFlag(flags.port) }),
      ...(flags.servers === undefined ? {} : { servers: serverCountFlag(flags.servers) }),
      ...(flags.advertise === undefined ? {} : { advertise: flags.advertise }),
      ...(flags.tokenNamespaces === undefined
        ? {}
        : { tokenNamespaces: tokenNamespacesFlag(flags.tokenNamespaces) }),
      websocket: flags.websocket,
      withAgent: flags.agent,
    });
  } finally {
    // Everything was stopped, or could not be: nothing that is left shall keep a hub's process from ending.
    setTimeout(() => process.exit(), endsWithinMs).unref();
  }
}
