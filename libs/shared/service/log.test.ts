import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLogger } from './log.ts';

test('a line says what happened in fields; what an agent sent cannot start another line', () => {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-log-'));
  const file = join(directory, 'deep', 'service.log');
  const logger = createLogger({ service: 'registrar', level: 'info', file });
  logger.debug({}, 'not shown');
  logger.child({ clusterId: 'id-1' }).warn({ reason: 'a\n{"level":60,"msg":"forged"}' }, 'refused');
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    service: 'registrar',
    clusterId: 'id-1',
    msg: 'refused',
  });
  rmSync(directory, { recursive: true });
});

test.runIf(existsSync('/dev/full'))('a full disk costs lines, not the service', () => {
  const logger = createLogger({ service: 'registrar', level: 'info', file: '/dev/full' });
  expect(() => logger.info({}, 'there is no space for this')).not.toThrow();
});
