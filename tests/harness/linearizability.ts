import { execFile } from 'node:child_process';
import { goProgram } from './go-programs.ts';

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

/** Whether some order of these operations, each at one moment between its call and its return, explains what everybody saw. */
export async function checkHistory(operations: readonly RecordedOperation[]): Promise<HistoryVerdict> {
  const program = await goProgram('linearizability', 'check-history');
  const lines = operations.map((operation) => JSON.stringify(operation)).join('\n');
  const { promise, resolve, reject } = Promise.withResolvers<HistoryVerdict>();
  const child = execFile(program, { maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
    if (stdout === '') reject(new Error(stderr, { cause: error }));
    else resolve(JSON.parse(stdout) as HistoryVerdict);
  });
  child.stdin?.end(lines);
  return promise;
}
