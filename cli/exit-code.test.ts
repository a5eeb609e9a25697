import { type ErrorCode, RollcallError } from '@rollcall/shared/errors';
import { kubeApiError } from '@rollcall/shared/kubernetes/kube-api-error';
import { expect, test } from 'vitest';
import { exitCodeOf } from './exit-code.ts';

test.each<{ code: ErrorCode; want: number }>([
  { code: 'USAGE', want: 2 },
  { code: 'TOKEN_USED_UP', want: 3 },
  { code: 'HUB_CA_WRONG', want: 3 },
  { code: 'MEMBER_TOO_OLD', want: 3 },
  { code: 'REQUEST_HELD', want: 4 },
  { code: 'HUB_UNREACHABLE', want: 5 },
  { code: 'BUS_UNREACHABLE', want: 5 },
  { code: 'DEADLINE_EXCEEDED', want: 6 },
  { code: 'CONFIG_INVALID', want: 1 },
  { code: 'UNEXPECTED', want: 1 },
])('$code ends with $want', ({ code, want }) => {
  expect(exitCodeOf(new RollcallError(code, 'text'))).toBe(want);
});

test.each([
  { name: 'no right', status: 403, want: 3 },
  { name: 'not let through by a policy or a schema', status: 422, want: 3 },
  { name: 'not there', status: 404, want: 1 },
  { name: "the server's own trouble", status: 500, want: 1 },
])('an API server that answers $status ($name) ends with $want', ({ status, want }) => {
  expect(exitCodeOf(kubeApiError(status, '', 'GET /'))).toBe(want);
});
