import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** `deploy/` of the checkout or the package that this file is in, wherever a bundle has put it. */
function deployFolderFrom(folder: string): string {
  const found = join(folder, 'deploy');
  if (existsSync(join(found, 'admission'))) return found;
  const above = dirname(folder);
  if (above === folder) throw new Error(`no deploy/ above ${import.meta.dirname}`);
  return deployFolderFrom(above);
}

export const deployFolder: string = deployFolderFrom(import.meta.dirname);
