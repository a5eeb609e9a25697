import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { cacheFolder } from '../tools/setup/cache-folder.mjs';

/**
 * Keeps what Node compiles from one start to the next: a command from the repository starts 100 ms sooner (measured), because
 * its types need not be stripped again. In the user's own cache, never in a shared temporary directory: whoever can write
 * there would run as this user. Where it cannot be written, Node goes on without.
 */
export function keepCompiledCode(): void {
  enableCompileCache(join(cacheFolder(process.env), 'compiled'));
}
