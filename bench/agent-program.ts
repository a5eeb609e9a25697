import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Compiled, as published packages and images hold it, or as it stands in the repository, types stripped at each start. */
export type AgentForm = 'compiled' | 'source';

const repository = join(import.meta.dirname, '..');
const source = join(import.meta.dirname, 'agent-process.mjs');
/** Below the repository's packages, so that they are found; not `dist/`, which a build takes away under running agents. */
const compiled = join(repository, 'node_modules', '.cache', 'rollcall-bench');
const packages = { '@rollcall/agent': 'agent', '@rollcall/shared': 'libs/shared' } as const;

/** @returns the file that Node runs; compiled anew each time, as `npm run build` does it, but for checking the types */
export function agentProgram(form: AgentForm): string {
  if (form === 'source') return source;
  rmSync(compiled, { recursive: true, force: true });
  const compiler = join(repository, 'node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--noCheck', '--outDir', compiled], {
    cwd: repository,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  mkdirSync(join(compiled, 'node_modules', '@rollcall'), { recursive: true });
  for (const [name, folder] of Object.entries(packages)) {
    const manifest = readFileSync(join(repository, folder, 'package.json'), 'utf8');
    writeFileSync(join(compiled, folder, 'package.json'), manifest.replaceAll('.ts"', '.js"'));
    symlinkSync(join(compiled, folder), join(compiled, 'node_modules', name));
  }
  const program = join(compiled, basename(source));
  copyFileSync(source, program);
  return program;
}
