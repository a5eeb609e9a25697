import { streamVersion } from '@rollcall/shared/tunnel';
import { expect, test } from 'vitest';
import { memberRequest } from './serve-stream.ts';

const request = {
  version: streamVersion,
  gateway: 'g',
  stream: 's',
  method: 'GET',
  path: '/version',
  headers: [],
  hasBody: false,
  user: 'alice',
  groups: [],
};
const access = { as: 'people', users: ['alice'], groups: {} } as const;

test.each([
  { name: 'older', version: streamVersion - 1, want: undefined },
  { name: 'the same', version: streamVersion, want: undefined },
  { name: 'newer', version: streamVersion + 1, want: 'version' },
])('a request of a version that is $name is refused with $want', ({ version, want }) => {
  const said = memberRequest({ ...request, version }, access);
  expect('refused' in said ? said.refused : undefined).toBe(want);
});
