import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stage, startStage } from './stage.ts';

let stage: Stage;
beforeAll(async () => void (stage = await startStage()));
afterAll(() => stage[Symbol.asyncDispose]());

test('what a member asks wrongly writes no line of a log', async () => {
  const log = () => readFileSync(join(stage.hub.stateDir, 'logs', 'registrar.log'), 'utf8');
  const before = log().length;
  const { agent } = stage.victim;
  for (const clusterId of [`c-${'x'.repeat(200)}`, 'another', '*'])
    for (let at = 0; at < 5; at++) {
      const { result } = await agent.request('renew', { clusterId });
      expect(result.kind).toBe('refused');
    }
  const lines = log().slice(before).trim().split('\n');
  // The hub of a test logs more than any other.
  expect(lines.filter((line) => !line.startsWith('{"level":20'))).toEqual([]);
});
