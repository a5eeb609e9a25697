import { expect, test } from 'vitest';
import { startHint } from './put-in-place.ts';

test.each([
  { stateDir: undefined, want: '`rollcall up`' },
  { stateDir: '/srv/hub', want: '`ROLLCALL_HOME=/srv/hub rollcall up`' },
  { stateDir: "/srv/the hub's", want: "`ROLLCALL_HOME='/srv/the hub'\\''s' rollcall up`" },
])('a hub that was put into $stateDir is started by $want', ({ stateDir, want }) => {
  expect(startHint(stateDir)).toBe(want);
});
