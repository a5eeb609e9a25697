import { expect, test } from 'vitest';
import { refuseVersion } from './member-version.ts';

test.each([
  { version: 'v1.28.0', want: undefined },
  { version: '1.28', want: undefined },
  { version: 'v1.36.3+k3s1', want: undefined },
  { version: 'v2.0.0', want: undefined },
  { version: 'v1.27.99', want: 'MEMBER_TOO_OLD' },
  { version: 'v1.9.0', want: 'MEMBER_TOO_OLD' },
  { version: 'v0.99.0', want: 'MEMBER_TOO_OLD' },
  { version: undefined, want: undefined },
  { version: '1.28+', want: undefined },
  { version: 'v1.30-eks-12', want: undefined },
  { version: 'unknown', want: 'MEMBER_VERSION_UNREADABLE' },
  { version: '', want: 'MEMBER_VERSION_UNREADABLE' },
  { version: '🙂🙂', want: 'MEMBER_VERSION_UNREADABLE' },
  { version: '9.99x', want: 'MEMBER_VERSION_UNREADABLE' },
  { version: `1.${'9'.repeat(400)}`, want: 'MEMBER_VERSION_UNREADABLE' },
])('$version → $want', ({ version, want }) => {
  expect(refuseVersion(version)?.code).toBe(want);
});
