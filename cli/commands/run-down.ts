import { stateDirectory } from '../state-directory.ts';
import { down } from '../up/down.ts';

export async function runDown(flags: { wipe?: boolean }): Promise<void> {
  process.exitCode = await down({ stateDir: stateDirectory(), wipe: flags.wipe ?? false });
}
