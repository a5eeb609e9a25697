import { onTestFinished } from 'vitest';
import { startTestHub, type TestHub } from './test-hub.ts';

/** A hub for one test. Not `await using`: what the test starts on it ends with the test, and must end before it. */
export async function startHubOfTest(): Promise<TestHub> {
  const hub = await startTestHub();
  onTestFinished(() => hub[Symbol.asyncDispose]());
  return hub;
}
