import type { Rows } from './rows.ts';

const urls = [
  ...['https://user:pass@example.com:80/path?query=val#fragment', '/absolute-path', 'https://a:b:c/', '../relative-path'],
  ...['', '*', 'mailto:a@b', 'https://', 'https:///path', 'http://[::1]:80/', 'http://[::1', 'http://[1.2.3.4]/', '//host/path'],
  ...['https://example.com:', 'https://example.com:x', 'HTTPS://Example.com/A', 'https://exa mple.com/', 'https://example.com/a b'],
  ...['https://example.com/%zz', 'https://example.com/?q=%zz', 'http://ex%41mple.com/', 'http://ex%C3%A9.com/', 'http://é.com/é'],
  ...['http://[fe80::1%25eth0]/', 'ftp://a:1:2/', 'http://a@b@c/', 'http://a b@c/', ':foo', '1http://x', 'a+b-c.d://x', '/a:b'],
  ...['http://host/path#frag%zz', 'http://host?x', 'urn:isbn:1', 'http://host/a?b?c', 'http://host/?', 'http://ho{st/', '/%2f/x'],
];

export const urlRows: Rows = [
  ['isURL($)', ...urls],
  ['url($).getScheme()', '/path', 'https://example.com/', 'HTTP://x/', 'mailto:a@b', '*', 'x'],
  ['url($).getHost()', ...urls.filter((url) => url.includes('//')), 'https://[::1]:80/', '/path', 'http://EXAMPLE.com'],
  [
    'url($).getHostname()',
    ...['https://example.com:80/', 'https://127.0.0.1:80/', 'https://[::1]:80/', 'https://[::1]/', '/path', 'ftp://a:1:2/'],
    ...['https://example.com:/', 'http://user@host:1/'],
  ],
  [
    'url($).getPort()',
    ...['https://example.com:80/', 'https://example.com/', 'https://[::1]:80/', 'https://example.com:/', '/p', 'http://a:b@c:1'],
  ],
  [
    'url($).getEscapedPath()',
    ...['https://example.com/path', 'https://example.com/path with spaces/', 'https://example.com', '/a%2Fb/c', '/é', '/%C3%A9'],
    ...['/a[b]', "/!'()*", '/a;b,c', '/a<b>', '/a?b', '/%7e', 'mailto:a@b', '/a"b', '/a%20 b', '*'],
  ],
  [
    'url($).getQuery()',
    ...['https://example.com/path?k1=a&k2=b&k2=c', 'https://example.com/path?key with spaces=value with spaces', '/path?', '/path'],
    ...['/?a', '/?a=', '/?=b', '/?a=1;b=2&c=3', '/?a=%zz&b=1', '/?a+b=c%20d', '/?a=b=c', '/?é=ü', '/?&&a=1', '/?a=1#f=2'],
  ],
  'url("https://example.com/") == url("https://example.com/")',
  'url("https://example.com/") == url("https://example.com")',
  'url("HTTPS://example.com/") == url("https://example.com/")',
  'url(1)',
  'type(url("/a"))',
  'url("x").getHost() == "" || true',
];
