import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { RollcallError } from '../../errors/index.ts';
import type { TokenSource } from './kube-access.ts';
import type { ExecPlugin } from './kubeconfig-shape.ts';

interface Credential {
  readonly token: string;
  readonly expirationTimestamp?: string;
}

/** @throws Error: it is no ExecCredential with a token */
function readCredential(stdout: string): Credential {
  const { kind, status } = JSON.parse(stdout) as { kind?: unknown; status?: Partial<Credential> };
  const { token, expirationTimestamp } = status ?? {};
  const isGood =
    kind === 'ExecCredential' &&
    typeof token === 'string' &&
    token !== '' &&
    (expirationTimestamp === undefined || typeof expirationTimestamp === 'string');
  if (!isGood) throw new Error('no ExecCredential');
  return { token, ...(expirationTimestamp === undefined ? {} : { expirationTimestamp }) };
}

const timeoutMs = 30_000;
/** A token that ends within this time is not begun with. */
const reserveMs = 30_000;
/** For tokens that do not say when they end: kubectl keeps them for its whole, short run. */
const assumedLifeMs = 10 * 60_000;

/**
 * Gets tokens from a credential plugin, as managed Kubernetes services have them, and keeps each until shortly before
 * its end. Plugins that give client certificates or ask the user something are not supported.
 */
export function execToken(plugin: ExecPlugin, folder: string): TokenSource {
  let current: { token: string; endsAtMs: number } | undefined;
  let running: Promise<string> | undefined;

  async function run(): Promise<string> {
    const env = Object.fromEntries((plugin.env ?? []).map(({ name, value }) => [name, value]));
    const request = { apiVersion: plugin.apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
    let credential: Credential;
    try {
      const { stdout } = await promisify(execFile)(plugin.command, plugin.args ?? [], {
        cwd: folder,
        env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: JSON.stringify(request) },
        timeout: timeoutMs,
      });
      credential = readCredential(stdout);
    } catch (error) {
      // Neither its output nor the cause may be shown whole: the output holds the token.
      const why = error instanceof Error && 'code' in error ? String(error.code) : 'no token in its answer';
      throw new RollcallError(
        'KUBECONFIG_INVALID',
        `the credential plugin "${plugin.command}" failed: ${why}`,
      );
    }
    const { token, expirationTimestamp } = credential;
    const endsAtMs =
      expirationTimestamp === undefined ? Date.now() + assumedLifeMs : Date.parse(expirationTimestamp);
    current = { token, endsAtMs };
    return token;
  }

  return async () => {
    if (current !== undefined && Date.now() < current.endsAtMs - reserveMs) return current.token;
    running ??= run().finally(() => (running = undefined));
    return running;
  };
}
