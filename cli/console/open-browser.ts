import { spawn } from 'node:child_process';

/** Where somebody sits. */
export interface Seat {
  readonly platform: NodeJS.Platform;
  readonly isTerminal: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * What opens a page in the browser of who sits there.
 * @returns undefined where nobody does: no terminal, another machine's terminal, or no screen
 */
export function browserCommand({ platform, isTerminal, environment }: Seat): readonly string[] | undefined {
  const { SSH_CONNECTION, SSH_TTY, DISPLAY, WAYLAND_DISPLAY } = environment;
  if (!isTerminal || SSH_CONNECTION || SSH_TTY) return undefined;
  switch (platform) {
    case 'darwin':
      return ['open'];
    case 'win32':
      return ['cmd', '/c', 'start', ''];
    case 'linux':
      return DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : undefined;
    default:
      return undefined;
  }
}

/** As browserCommand, where this process runs. */
export function ownBrowserCommand(): readonly string[] | undefined {
  const { platform, env, stdout } = process;
  return browserCommand({ platform, isTerminal: stdout.isTTY, environment: env });
}

/** Who has no browser has the link that is printed. */
export function openBrowser([file = '', ...args]: readonly string[], link: string): void {
  const child = spawn(file, [...args, link], { stdio: 'ignore', detached: true });
  child.once('error', () => undefined);
  child.unref();
}
