import { expect, test } from 'vitest';
import { refusedPath } from './refused-path.ts';

test.each([
  '/api/v1/namespaces?limit=500&continue=a%2Fb..',
  '/',
  '/version',
  '/api/v1/namespaces/default/pods/a.b-c/exec?command=cat&command=..%2Fetc',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node',
  '/api/v1/namespaces/default/services/http:web:80/proxy/',
])('%s goes on', (path) => expect(refusedPath(path)).toBeUndefined());

test.each([
  ['/api/../metrics', 'part'],
  ['/api/./v1', 'part'],
  ['/api/v1/..', 'part'],
  ['/api%2fv1', 'encoded'],
  ['/api%2Fv1', 'encoded'],
  ['/%2e%2e/metrics', 'encoded'],
  ['/api%5cv1', 'encoded'],
  ['/api%00', 'encoded'],
  ['//evil.example/api', 'two slashes'],
  ['/api//v1', 'two slashes'],
  ['https://evil.example/api', 'begin with a slash'],
  ['api', 'begin with a slash'],
  ['/api v1', 'characters'],
  ['/api\r\nX-Remote-User: admin', 'characters'],
  ['/api\\v1', 'characters'],
  ['/api#x', 'characters'],
  ['/api%zz', 'percent'],
  [`/${'a'.repeat(9000)}`, 'longer'],
])('%s does not', (path, why) => expect(refusedPath(path)).toContain(why));
