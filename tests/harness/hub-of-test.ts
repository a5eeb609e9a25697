import { onTestFinished } from 'vitest';
import { startTestHub, type TestHub } from './test-hub.ts';

/** A hub for one test. Not `await using`: what the test starts on it ends with the test, and must end before it. */
export async function startHubOfTest(options?: Parameters<typeof startTestHub>[0]): Promise<TestHub> {
  const hub = await startTestHub(options);
  onTestFinished(() => hub[Symbol.asyncDispose]());
  return hub;
}
