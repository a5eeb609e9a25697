import { say } from './output.ts';

const firstAfterMs = 1000;
const againAfterMs = 5000;

/**
 * Says on stderr that something is still being done, once it has taken longer than a second.
 * @param what - in the words of `reading the history`
 */
export async function withProgress<Result>(what: string, work: Promise<Result>): Promise<Result> {
  const startedMs = performance.now();
  const tell = () => say(`… ${what} (${Math.round((performance.now() - startedMs) / 1000)} s)`);
  let repeating: NodeJS.Timeout | undefined;
  const first = setTimeout(() => {
    tell();
    repeating = setInterval(tell, againAfterMs);
  }, firstAfterMs);
  try {
    return await work;
  } finally {
    clearTimeout(first);
    clearInterval(repeating);
  }
}
