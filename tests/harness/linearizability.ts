import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '../../tools/setup/cache-folder.mjs';

/** One operation on an aggregate as its client saw it; times in ns of one clock. What it means: tools/go/linearizability. */
export interface RecordedOperation {
  readonly aggregate: string;
  readonly client: number;
  readonly op: 'append' | 'read';
  readonly expected?: number;
  readonly result?: 'ok' | 'conflict';
  readonly sequence?: number;
  readonly callNs: number;
  readonly returnNs: number;
}

export interface HistoryVerdict {
  readonly result: 'Ok' | 'Illegal' | 'Unknown';
  readonly operations: number;
  readonly aggregates: number;
  readonly illegal: readonly string[];
}

const module = join(import.meta.dirname, '..', '..', 'tools', 'go', 'linearizability');

/** The checker is a Go program, and unlike the servers no release of it can be downloaded. */
export function hasGo(): boolean {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function checker(): Promise<string> {
  const folder = join(cacheFolder(process.env), 'bin', 'linearizability');
  mkdirSync(folder, { recursive: true });
  const program = join(folder, 'check-history');
  const env = { ...process.env, GOWORK: 'off', GOFLAGS: '-mod=readonly', CGO_ENABLED: '0' };
  // Go's own cache makes this a moment where nothing has changed.
  await promisify(execFile)('go', ['build', '-trimpath', '-o', program, '.'], { cwd: module, env });
  if (!existsSync(program)) throw new Error('the checker was not built');
  return program;
}

/** Whether some order of these operations, each at one moment between its call and its return, explains what everybody saw. */
export async function checkHistory(operations: readonly RecordedOperation[]): Promise<HistoryVerdict> {
  const program = await checker();
  const lines = operations.map((operation) => JSON.stringify(operation)).join('\n');
  const { promise, resolve, reject } = Promise.withResolvers<HistoryVerdict>();
  const child = execFile(program, { maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
    if (stdout === '') reject(new Error(stderr, { cause: error }));
    else resolve(JSON.parse(stdout) as HistoryVerdict);
  });
  child.stdin?.end(lines);
  return promise;
}
