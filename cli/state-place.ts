import { lstatSync, realpathSync, type Stats } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';

const [groupWrites, othersWrite, isSticky] = [0o020, 0o002, 0o1000];

/** A directory, and what of it lies on the way to the state. */
interface Step {
  readonly directory: Stats;
  readonly child: Stats | undefined;
}
interface Who {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Why others may put another directory in the place of one below: they may write to it. Where it is sticky, as /tmp, only what is not
 * ours can be. A group that is ours alone is none of others.
 */
export function whyOthersMayReplace({ directory, child }: Step, me: Who): string | undefined {
  const { mode } = directory;
  const isOpen = (mode & othersWrite) !== 0 || ((mode & groupWrites) !== 0 && directory.gid !== me.gid);
  if (!isOpen) return undefined;
  const shown = (mode & 0o7777).toString(8);
  if ((mode & isSticky) === 0) return `others may write there (mode ${shown})`;
  const isOurs = child === undefined || child.uid === me.uid || child.uid === 0;
  return isOurs ? undefined : `what is in it on the way there is of somebody else (user ${child.uid})`;
}

const statOf = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false });

/** By their names, and by where those lead. */
function pathsTo(directory: string): string[] {
  const given = resolve(directory);
  let there = given;
  while (statOf(there) === undefined) there = dirname(there);
  const real = realpathSync(there);
  return real === there ? [given] : [given, real];
}

/**
 * The state of a hub holds its keys: whoever may write to a directory above it can put another hub in its place.
 * @throws RollcallError CONFIG_INVALID
 */
export function checkStatePlace(directory: string): void {
  const me = { uid: process.geteuid?.(), gid: process.getegid?.() };
  if (me.uid === undefined || me.gid === undefined) return;
  const who = { uid: me.uid, gid: me.gid };
  for (const path of pathsTo(directory)) {
    for (let [at, child] = [path, undefined as Stats | undefined]; ; at = dirname(at)) {
      const stats = statOf(at);
      const why = stats?.isDirectory() ? whyOthersMayReplace({ directory: stats, child }, who) : undefined;
      if (why !== undefined) {
        throw new RollcallError(
          'CONFIG_INVALID',
          `the state of the hub cannot lie in "${directory}": of "${at}", ${why}; set ROLLCALL_HOME to a directory where only you may write, or take the right from others: chmod go-w '${at}'`,
        );
      }
      child = stats;
      if (at === dirname(at)) break;
    }
  }
}
