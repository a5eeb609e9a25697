import { expect, test } from 'vitest';
import { formatHubAddress, parseHubAddress } from './hub-address.ts';

test.each([
  ['hub.example:4222', 'hub.example:4222'],
  ['hub.example', 'hub.example:4222'],
  ['tls://10.0.0.1:443', '10.0.0.1:443'],
  ['[::1]:4222', '[::1]:4222'],
  ['wss://hub.example', 'wss://hub.example:443'],
  ['wss://hub.example:8443/', 'wss://hub.example:8443'],
  ['wss://[::1]', 'wss://[::1]:443'],
])('%s', (text, want) => {
  expect(formatHubAddress(parseHubAddress(text))).toBe(want);
});

test.each([
  '',
  ':4222',
  'host:0',
  'host:99999',
  'a b',
  'https://host:1',
  '::1:4222',
  'ws://host',
  'wss://host/path',
  'wss://',
])('%j is refused', (text) => {
  expect(() => parseHubAddress(text)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});
