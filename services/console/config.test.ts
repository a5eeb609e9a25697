import { expect, test } from 'vitest';
import { configSchema, start } from './main.ts';

const files = {
  busCaFile: 'none',
  apiServerCaFile: import.meta.filename,
  servingCertFile: 'none',
  servingKeyFile: 'none',
};
const configOf = (publicHost: string, more: object = {}) =>
  configSchema.parse({
    ...files,
    busServers: '127.0.0.1:4222',
    apiServer: 'https://127.0.0.1:6443',
    publicHost,
    ...more,
  });

test.each([
  { publicHost: 'console.example.org', want: 'console.example.org' },
  { publicHost: 'console.example.org:443', want: 'console.example.org' },
  { publicHost: 'console.example.org:8443', want: 'console.example.org:8443' },
])('$publicHost is what browsers call $want', ({ publicHost, want }) => {
  expect(configOf(publicHost).publicHost).toBe(want);
});

test.each([{ busCaFile: 'none' }, { apiServerCaFile: 'none', busCaFile: import.meta.filename }])(
  'a CA that cannot be read is a setting that is wrong: %o',
  async (more) => {
    const starting = start(configOf('console.example.org', more), () => expect.unreachable());
    await expect(starting).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('cannot read the CA file "none"'),
    });
  },
);
