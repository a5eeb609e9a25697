import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { checkStatePlace } from './state-place.ts';

/**
 * Where the embedded hub keeps its state: `ROLLCALL_HOME`, or `.rollcall` where the command is run.
 * @throws RollcallError CONFIG_INVALID where somebody else may have put there what is in it
 */
export function stateDirectory(): string {
  const directory = process.env['ROLLCALL_HOME'] || '.rollcall';
  if (existsSync(directory)) checkStatePlace(directory);
  return directory;
}

/** A file of the embedded hub, or undefined where there is no hub or it has no such file. */
export function stateFile(...path: string[]): string | undefined {
  const file = join(stateDirectory(), ...path);
  return existsSync(file) ? file : undefined;
}
