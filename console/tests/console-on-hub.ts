import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunningConsole, startConsole } from '@rollcall/console';
import { kubeconfigYaml } from '@rollcall/shared/kubernetes';
import { consoleHub } from '../../cli/console/console-hub.ts';
import type { TestEmbeddedHub } from '../../tests/harness/embedded.ts';
import { buildPage, isPageStale } from '../../tools/build-page.mjs';

/** `rollcall console`, as that person. */
export async function startConsoleOf(hub: TestEmbeddedHub, user: string): Promise<RunningConsole> {
  if (isPageStale()) await buildPage();
  const { stateDir, natsAddress, plane } = hub.up;
  const kubeconfig = join(stateDir, `${user}.kubeconfig`);
  writeFileSync(kubeconfig, kubeconfigYaml(plane.userAccess(user)), { mode: 0o600 });
  const caFile = join(stateDir, 'hub-ca.pem');
  const { caPem } = JSON.parse(readFileSync(join(stateDir, 'hub.json'), 'utf8')) as { caPem: string };
  writeFileSync(caFile, caPem);
  const [server = ''] = [natsAddress].flatMap(({ servers }) => servers);
  return startConsole(
    consoleHub({ kubeconfig, server, caFile, creds: join(stateDir, 'inspector.creds'), keys: stateDir }),
  );
}
