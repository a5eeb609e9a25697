import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Where the embedded hub keeps its state: `ROLLCALL_HOME`, or `.rollcall` where the command is run. */
export function stateDirectory(): string {
  return process.env['ROLLCALL_HOME'] || '.rollcall';
}

/** A file of the embedded hub, or undefined where there is no hub or it has no such file. */
export function stateFile(...path: string[]): string | undefined {
  const file = join(stateDirectory(), ...path);
  return existsSync(file) ? file : undefined;
}
