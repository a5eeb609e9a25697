import { parseDurationMs, usualMemberLifeMs } from '@rollcall/shared/config';
import { noteLives } from '../../trust/credential-lives.ts';
import type { HubFiles } from '../../trust/hub-files.ts';
import type { HubValues } from './hub-values.ts';

/** Notes with the keys how long credentials of members live now, for when the keys roll over: by then it may be set to less. */
export function noteMemberLife(
  files: Pick<HubFiles, 'change'>,
  { services }: HubValues,
  nowMs: number,
): void {
  const set = services.registrar.env.find(({ name }) => name === 'ROLLCALL_MEMBER_LIFE');
  const inForceMs = set ? parseDurationMs(String(set['value'])) : usualMemberLifeMs;
  if (inForceMs !== undefined) noteLives(files, { inForceMs, nowMs });
}
