import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { checkStateFits } from './key-store.ts';
import { directoryKeyStore, forgetDirectory } from './key-store-directory.ts';
import { anAgentState, keyStoreConformance } from '../tests/key-store-conformance.ts';

const root = mkdtempSync(join(tmpdir(), 'rollcall-keys-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
const aDirectory = () => join(root, String(count++), 'agent');

describe('a directory', () => {
  keyStoreConformance(() => {
    const directory = aDirectory();
    return {
      open: () => directoryKeyStore(directory),
      damage: (change) => {
        const path = join(directory, 'agent-state');
        writeFileSync(path, change(readFileSync(path, 'utf8')));
        return Promise.resolve();
      },
    };
  });

  test('is readable by its owner only, and nothing is left beside the file', async () => {
    const directory = aDirectory();
    await directoryKeyStore(directory).save(anAgentState());
    expect(readdirSync(directory)).toEqual(['agent-state']);
    expect(
      [directory, join(directory, 'agent-state')].map((path) => (statSync(path).mode & 0o777).toString(8)),
    ).toEqual(['700', '600']);
  });
});

test('what somebody laid in the way is not written through', async () => {
  const directory = aDirectory();
  const store = directoryKeyStore(directory);
  await store.save(anAgentState());
  const ofOthers = join(root, 'of-others');
  writeFileSync(ofOthers, 'as it was');
  symlinkSync(ofOthers, join(directory, `agent-state.${process.pid}.new`));
  await store.save(anAgentState({ replyKey: 'U1' }));
  expect(readFileSync(ofOthers, 'utf8')).toBe('as it was');
  expect(await directoryKeyStore(directory).load()).toMatchObject({ replyKey: 'U1' });
  expect(lstatSync(join(directory, 'agent-state')).isSymbolicLink()).toBe(false);
});

test('who leaves leaves no keys, also not those that a killed agent was just writing', async () => {
  const directory = aDirectory();
  await directoryKeyStore(directory).save(anAgentState());
  for (const name of ['agent-state.17.new', 'hub.kubeconfig.17.new', 'of-others'])
    writeFileSync(join(directory, name), 'x');
  await forgetDirectory(directory).afterGoodbye();
  expect(readdirSync(directory)).toEqual(['of-others']);
  rmSync(join(directory, 'of-others'));
  await forgetDirectory(directory).afterGoodbye();
  expect(existsSync(directory)).toBe(false);
});

test.each([{ hubId: 'h', clusterId: 'c' }, {}])('a state fits %o', (expected) => {
  expect(() => checkStateFits(anAgentState({ hubId: 'h', clusterId: 'c' }), 'here', expected)).not.toThrow();
});

test.each([{ hubId: 'other' }, { clusterId: 'other' }])('a state of another is refused: %o', (expected) => {
  expect(() => checkStateFits(anAgentState({ hubId: 'h', clusterId: 'c' }), 'here', expected)).toThrow(
    expect.objectContaining({ code: 'AGENT_STATE_OTHER' }),
  );
});
