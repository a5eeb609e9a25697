import { type ErrorCode, RollcallError } from '@rollcall/shared/errors';

/** The commands that empty the volumes of so many servers, in one line, as an error is one. */
export function howToEmptyVolumes(servers: number): string {
  const claims = Array.from({ length: servers }, (_, index) => `data-rollcall-nats-${index}`).join(' ');
  const commands = [
    'scale statefulset rollcall-nats --replicas 0',
    `delete pvc ${claims}`,
    `scale statefulset rollcall-nats --replicas ${servers}`,
  ].map((command) => `kubectl -n rollcall-system ${command}`);
  return `where it is to be lost, empty their volumes, and run the same command again: \`${commands.join(' && ')}\``;
}

/**
 * What to throw instead where servers have something else: how they are emptied stands in it. Another error stays as it is.
 * @param options - its code from now on, and what comes before the commands
 */
export function withHowToEmpty(
  error: unknown,
  servers: number,
  { code, also = '' }: { code: ErrorCode; also?: string },
): unknown {
  if (!(error instanceof RollcallError) || error.code !== 'STATE_NOT_EMPTY') return error;
  return new RollcallError(code, `${error.message}${also}: ${howToEmptyVolumes(servers)}`, { cause: error });
}
