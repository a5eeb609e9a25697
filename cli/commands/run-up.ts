import { RollcallError } from '@rollcall/shared/errors';
import { stateDirectory } from '../state-directory.ts';
import { down, up } from '../up/main.ts';

/** @throws RollcallError USAGE for a port that is none, and what `up` throws */
export async function runUp(flags: { advertise?: string[]; port: string; agent: boolean }): Promise<void> {
  const port = Number(flags.port);
  if (!/^\d+$/.test(flags.port) || port < 1 || port > 65_535) {
    throw new RollcallError('USAGE', `--port "${flags.port}" is no port number`);
  }
  await up({
    stateDir: stateDirectory(),
    port,
    advertise: flags.advertise ?? [],
    withAgent: flags.agent,
  });
}

export async function runDown(flags: { wipe?: boolean }): Promise<void> {
  await down({ stateDir: stateDirectory(), wipe: flags.wipe ?? false });
}
