import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createNkey } from '@rollcall/shared/trust';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createBackupFile } from '../backup/write-backup.ts';
import { credsText } from '../context/creds-text.ts';
import { exportContext } from '../context/export-context.ts';
import { prepareKeys } from './control-plane/control-plane-keys.ts';
import { loopbackPorts } from './loopback-ports.ts';
import { startChild } from './process/child-process.ts';
import { noteChild } from './process/child-process-stale.ts';
import { writePrivate } from './private-files.ts';

/** Whatever writes a file that is for its owner writes it anew, also where a symbolic link to a file of others lies. */
let directory: string;
let victim: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'rollcall-files-'));
  victim = join(directory, 'victim');
  writeFileSync(victim, 'precious');
  chmodSync(victim, 0o644);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true, force: true });
});

interface Writer {
  readonly name: string;
  /** Of the directory, where links are laid. */
  readonly links: readonly string[];
  /** Among them, or another file: what is written, which nobody else may read. */
  readonly written: string;
  write(): unknown;
}
const draft = (name: string, ending: string) => `${name}.${process.pid}.${ending}`;

test.each<Writer>([
  {
    name: 'a file of the state directory',
    links: ['hub.json', draft('hub.json', 'tmp')],
    written: 'hub.json',
    write: () => writePrivate(join(directory, 'hub.json'), 'text'),
  },
  {
    name: 'a backup, and an archive',
    links: [draft('hub.backup', 'partial')],
    written: 'hub.backup',
    async write() {
      const file = createBackupFile(join(directory, 'hub.backup'));
      await file.write({ any: 'line' });
      await file.end();
    },
  },
  {
    name: 'the note of a child',
    links: ['run/etcd.json', 'run/etcd.json.tmp', draft('run/etcd.json', 'tmp')],
    written: 'run/etcd.json',
    write: () => noteChild(directory, 'etcd', process.pid),
  },
  {
    name: 'the log of a child',
    links: ['logs/true.log'],
    written: 'logs/true.log',
    async write() {
      const isReady = () => Promise.resolve(true);
      const logPath = join(directory, 'logs', 'true.log');
      const command = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'] };
      const about = { name: 'true', stateDir: directory, logPath, isReady, readyWithinMs: 20_000 };
      await (await startChild({ ...about, ...command })).stop();
    },
  },
  {
    name: 'an exported context of the nats command',
    links: [
      'nats/context/here.json',
      draft('nats/context/here.json', 'new'),
      draft('nats/context/here.json', 'tmp'),
      draft('nats/rollcall/here/ca.pem', 'new'),
    ],
    written: 'nats/context/here.json',
    write() {
      vi.stubEnv('XDG_CONFIG_HOME', directory);
      const creds = join(directory, 'ops.creds');
      writeFileSync(creds, credsText({ jwt: 'e30.e30.e30', seed: createNkey('user').seed }));
      const caFile = join(directory, 'ca.pem');
      writeFileSync(caFile, 'a CA');
      return exportContext({ name: 'here', force: true, server: 'nats://127.0.0.1:1', creds, caFile });
    },
  },
  {
    name: 'keys of the control plane',
    links: ['etcd.key', 'etcd.crt', 'service-account.pub', 'apiserver.key'],
    written: 'etcd.key',
    write: () => prepareKeys(directory),
  },
  {
    name: 'its ports',
    links: ['ports.json', draft('ports.json', 'tmp')],
    written: 'ports.json',
    write: () => loopbackPorts(join(directory, 'ports.json'), ['nats']),
  },
])('$name is not written through a link', async ({ links, written, write }) => {
  for (const link of links) {
    mkdirSync(dirname(join(directory, link)), { recursive: true });
    // What is read before it is written must not be the victim's: a link that leads nowhere is as good.
    symlinkSync(link === 'ports.json' ? join(directory, 'nowhere') : victim, join(directory, link));
  }
  await write();
  expect(readFileSync(victim, 'utf8')).toBe('precious');
  expect(statSync(victim).mode & 0o777).toBe(0o644);
  const state = lstatSync(join(directory, written));
  expect([state.isFile(), state.mode & 0o777]).toEqual([true, 0o600]);
});
