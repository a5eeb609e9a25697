import { expect, test } from 'vitest';
import { aliasedHost, parseHostAliases } from './hub-network.ts';

test('a host alias is found by its name in any case, and other hosts stay what they are', () => {
  const network = {
    hostAliases: parseHostAliases(['Hub.example.org=192.0.2.7', ' six.example.org=2001:db8::7']),
  };
  expect(aliasedHost('hub.EXAMPLE.org', network)).toBe('192.0.2.7');
  expect(aliasedHost('six.example.org', network)).toBe('2001:db8::7');
  expect(aliasedHost('other.example.org', network)).toBe('other.example.org');
  expect(aliasedHost('constructor', network)).toBe('constructor');
  expect(aliasedHost('hub.example.org', {})).toBe('hub.example.org');
});

test.each([
  'hub.example.org',
  'hub=',
  '=192.0.2.7',
  'hub=other.example.org',
  '192.0.2.1=192.0.2.7',
  'a b=192.0.2.7',
])('"%s" is no host alias', (text) => {
  expect(() => parseHostAliases([text])).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});
