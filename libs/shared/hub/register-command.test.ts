import { expect, test } from 'vitest';
import { registerCommand, shellWord } from './register-command.ts';

const hub = { addresses: ['hub.example.org:4222'], caCertHash: 'sha256:00ff' };

test.each([
  {
    name: 'for any cluster',
    clusterName: undefined,
    want: 'ROLLCALL_TOKEN=rc1.a.b rollcall register hub.example.org:4222 --ca-cert-hash sha256:00ff --run',
  },
  {
    name: 'for one cluster',
    clusterName: 'edge-1',
    want: 'ROLLCALL_TOKEN=rc1.a.b rollcall register hub.example.org:4222 --ca-cert-hash sha256:00ff --cluster-name edge-1 --run',
  },
  {
    name: 'for a pattern, which is no name',
    clusterName: 'edge-*',
    want: 'ROLLCALL_TOKEN=rc1.a.b rollcall register hub.example.org:4222 --ca-cert-hash sha256:00ff --run',
  },
])('a command $name', ({ clusterName, want }) => {
  expect(registerCommand(hub, { token: 'rc1.a.b', clusterName })).toBe(want);
});

test('several addresses are one word', () => {
  const command = registerCommand({ ...hub, addresses: ['a:1', '[::1]:2'] }, { token: 't' });
  expect(command).toContain("register 'a:1,[::1]:2' --ca-cert-hash");
});

test.each([
  { text: 'plain-1.2:3', want: 'plain-1.2:3' },
  { text: "it's", want: `'it'\\''s'` },
  { text: '$(reboot)', want: "'$(reboot)'" },
])('$text is $want in a shell', ({ text, want }) => {
  expect(shellWord(text)).toBe(want);
});
