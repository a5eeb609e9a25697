import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openHubState } from '../../up/state/hub-state.ts';
import { refuseOtherKeys } from './hub-there.ts';

test('the command that brings a history back can be pasted, wherever the keys are', async () => {
  const place = mkdtempSync(join(tmpdir(), 'rollcall-hub-there-'));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  const keys = join(place, 'my keys');
  openHubState(keys, Date.now());
  const said: string[] = [];
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  onTestFinished(() => write.mockRestore());
  const nobody = { get: () => Promise.resolve(undefined) } as never;
  await refuseOtherKeys({ hub: nobody, workloads: nobody }, keys);
  expect(said.join('')).toContain(`rollcall restore FILE --keys '${keys}' --keep-kubernetes`);
});
