import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { pinnedTools } from './pinned-tools.mjs';

/** The pinned nats-server, the smallest of the tools. */
export function natsServerTool() {
  const tool = pinnedTools.find(({ name }) => name === 'nats-server');
  if (tool === undefined) throw new Error('nats-server is not pinned');
  return tool;
}

/** A folder that is gone after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-setup-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A program that prints this version, whatever it is asked. */
export const scriptPrinting = (version: string): string => `#!/bin/sh\necho "nats-server: v${version}"\n`;

/**
 * Writes a shell script that can be run.
 * @returns its path
 */
export function writeScript(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}
