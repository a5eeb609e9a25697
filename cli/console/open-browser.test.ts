import { expect, test } from 'vitest';
import { browserCommand, type Seat } from './open-browser.ts';

const atDesk = (change: Partial<Seat> = {}): Seat => ({
  platform: 'linux',
  isTerminal: true,
  environment: { DISPLAY: ':0' },
  ...change,
});

test.each([
  { name: 'Linux with a screen', seat: atDesk(), want: ['xdg-open'] },
  { name: 'Linux with Wayland', seat: atDesk({ environment: { WAYLAND_DISPLAY: 'w' } }), want: ['xdg-open'] },
  { name: 'macOS', seat: atDesk({ platform: 'darwin', environment: {} }), want: ['open'] },
  { name: 'Windows', seat: atDesk({ platform: 'win32' }), want: ['cmd', '/c', 'start', ''] },
  { name: 'Linux without a screen', seat: atDesk({ environment: {} }), want: undefined },
  { name: 'an empty DISPLAY', seat: atDesk({ environment: { DISPLAY: '' } }), want: undefined },
  { name: 'a script', seat: atDesk({ isTerminal: false }), want: undefined },
  {
    name: 'SSH with a screen',
    seat: atDesk({ environment: { DISPLAY: ':10', SSH_CONNECTION: 'a' } }),
    want: undefined,
  },
  {
    name: 'SSH to a Mac',
    seat: atDesk({ platform: 'darwin', environment: { SSH_TTY: 't' } }),
    want: undefined,
  },
  { name: 'anything else', seat: atDesk({ platform: 'freebsd' }), want: undefined },
])('the browser of $name: $want', ({ seat, want }) => {
  expect(browserCommand(seat)).toEqual(want);
});
