import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readJsonLines } from './json-lines.ts';
import { isAlreadyExists, isConflict, isNotFound, kubeApiError } from './kube-api-error.ts';
import { resourcePath, withQuery } from './resource-path.ts';
import { resources } from './resources.ts';

const { secrets, namespaces, managedClusters, serviceAccounts } = resources;
test.each([
  { resource: secrets, options: {}, want: '/api/v1/secrets' },
  { resource: secrets, options: { namespace: 'n' }, want: '/api/v1/namespaces/n/secrets' },
  { resource: namespaces, options: { name: 'n' }, want: '/api/v1/namespaces/n' },
  {
    resource: managedClusters,
    options: { name: 'm', namespace: 'ignored', subresource: 'status' },
    want: '/apis/rollcall.dev/v1alpha1/managedclusters/m/status',
  },
  {
    resource: serviceAccounts,
    options: { namespace: 'n', name: 's', subresource: 'token' },
    want: '/api/v1/namespaces/n/serviceaccounts/s/token',
  },
])('$want', ({ resource, options, want }) => {
  expect(resourcePath(resource, options)).toBe(want);
});

test('no name changes the number of path segments, or is refused', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => {
      let path: string;
      try {
        path = resourcePath(secrets, { namespace: 'n', name });
      } catch {
        return;
      }
      const { pathname } = new URL(path, 'https://host');
      expect(pathname.split('/').length).toBe(7);
      expect(pathname.startsWith('/api/v1/namespaces/n/secrets/')).toBe(true);
    }),
  );
});

test('a query has only what has a value', () => {
  expect(withQuery('/p', { a: undefined })).toBe('/p');
  expect(withQuery('/p', { a: 'x=y,z', b: 1, c: undefined })).toBe('/p?a=x%3Dy%2Cz&b=1');
});

test('JSON lines come out whole, however the bytes are cut', async () => {
  const values = [{ name: 'Zürich' }, { name: '東京' }, { n: 1 }];
  const bytes = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
  for (let size = 1; size < bytes.length; size += 3) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    );
    const read = await Array.fromAsync(readJsonLines(Readable.from([...chunks, Buffer.from('{"cut":')])));
    expect(read).toEqual(values);
  }
});

const status = (code: number, reason: string) =>
  kubeApiError(code, JSON.stringify({ kind: 'Status', code, reason, message: 'why' }), 'GET /x');

test('errors are told apart by code and reason', () => {
  expect(isConflict(status(409, 'Conflict'))).toBe(true);
  expect(isConflict(status(409, 'AlreadyExists'))).toBe(false);
  expect(isAlreadyExists(status(409, 'AlreadyExists'))).toBe(true);
  expect(isNotFound(kubeApiError(404, '404 page not found\n', 'GET /x'))).toBe(true);
  expect(status(503, 'ServiceUnavailable').retry).toBe(true);
  expect(status(403, 'Forbidden')).toMatchObject({ retry: false, message: 'GET /x: why', code: 'KUBE_API' });
});

test.each([
  { code: 400, hint: /^Correct what the API server names/ },
  { code: 401, hint: /credentials/ },
  { code: 403, hint: /right is missing/ },
  { code: 422, hint: /^Correct what the API server names/ },
  { code: 404, hint: /kubeconfig is that of a hub/ },
  { code: 409, hint: /there already/ },
  { code: 503, hint: /try again/ },
])('what to do follows from what the API server meant with $code', ({ code, hint }) => {
  const body = JSON.stringify({
    kind: 'Status',
    code,
    reason: 'x',
    message: 'spec.x: Invalid value',
  });
  const error = kubeApiError(code, body, 'POST /apis/x');
  expect(error.hint).toMatch(hint);
  // By which path something was sent helps nobody to write it right.
  expect(error).toMatchObject({ status: code, reason: 'x' });
  expect(error.message).toBe(
    code === 400 || code === 422 ? 'spec.x: Invalid value' : 'POST /apis/x: spec.x: Invalid value',
  );
});
