import type { HubFlags } from '../hub-access.ts';
import type { MemberFlags } from '../member-access.ts';
import type { Mode } from './member-account.ts';

const quoted = (word: string) => (/^[\w./:@=-]+$/.test(word) ? word : `'${word}'`);

function flagLine(flags: readonly (readonly [string, string | undefined])[]): string {
  return flags
    .filter(([, value]) => value !== undefined)
    .map(([flag, value = '']) => ` ${flag} ${quoted(value)}`)
    .join('');
}

/** What somebody types whose time was up: the hub goes on with what was made, until that is undone. */
export function howToGoOn(name: string, flags: HubFlags & MemberFlags & { readonly mode: Mode }): string {
  const same = flagLine([
    ['--member-kubeconfig', flags.memberKubeconfig ?? flags.clusterKubeconfig],
    ['--member-context', flags.memberContext ?? flags.clusterContext],
    ['--kubeconfig', flags.kubeconfig],
    ['--context', flags.context ?? flags.karmadaContext],
  ]);
  const undo = `${quoted(name)}${same}`;
  const wait = `${undo} --mode ${flags.mode}`;
  return `the hub goes on: \`rollcall join ${wait}\` waits again, \`rollcall unregister ${undo}\` undoes it`;
}
