import { expect, test } from 'vitest';
import { refuseWithoutFrontProxy } from './front-proxy.ts';

test('a member gateway is installed behind an API server that passes requests on, and behind no other', () => {
  expect(() => refuseWithoutFrontProxy({ data: { 'requestheader-client-ca-file': 'a CA' } })).not.toThrow();
  const says = /services\.member-gateway\.replicas to 0/;
  expect(() => refuseWithoutFrontProxy({})).toThrow(says);
  expect(() => refuseWithoutFrontProxy({ data: { 'client-ca-file': 'another' } })).toThrow(says);
});
