import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Compiled, as published packages and images hold it, or as it stands in the repository, types stripped at each start. */
export type AgentForm = 'compiled' | 'source';

const repository = join(import.meta.dirname, '..');
const source = join(import.meta.dirname, 'agent-process.mjs');

/** @returns the file that Node runs; what `npm run build` makes is made anew if it is older than its sources */
export function agentProgram(form: AgentForm): string {
  if (form === 'source') return source;
  if (isBuildStale()) {
    execFileSync(process.execPath, [join(repository, 'tools', 'build.mjs')], {
      cwd: repository,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
  const directory = join(repository, 'dist', 'bench');
  mkdirSync(directory, { recursive: true });
  const copy = join(directory, 'agent-process.mjs');
  copyFileSync(source, copy);
  return copy;
}

function isBuildStale(): boolean {
  const built = statSync(join(repository, 'dist', 'package.json'), { throwIfNoEntry: false });
  const sources = globSync(['agent/*.ts', 'libs/shared/*/*.ts'], { cwd: repository });
  return !built || sources.some((path) => statSync(join(repository, path)).mtimeMs > built.mtimeMs);
}
