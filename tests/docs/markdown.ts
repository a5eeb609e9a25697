import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const repository = join(import.meta.dirname, '..', '..');

export interface ShellBlock {
  /** As it stands there, without the fences. */
  readonly script: string;
  /** Why it is not run, where a comment above it says so: `<!-- not run: … -->`. */
  readonly notRun: string | undefined;
}

/** The fenced `sh` blocks of a document, in order. */
export function shellBlocks(markdown: string): ShellBlock[] {
  const blocks = markdown.matchAll(
    /(?:<!-- not run: (?<reason>[^\n]*?) -->\n)?```sh\n(?<script>[\s\S]*?)\n```/g,
  );
  return [...blocks].map(({ groups }) => ({ script: groups?.['script'] ?? '', notRun: groups?.['reason'] }));
}

const notOurs = ['**/node_modules', '**/dist', '**/.rollcall*'];

/** Every document that people write or read, by its path in the repository; not what npm installed, nor what a test builds meanwhile. */
export function documents(): string[] {
  return globSync('**/*.md', { cwd: repository, exclude: notOurs }).toSorted();
}

export function readDocument(path: string): string {
  return readFileSync(join(repository, path), 'utf8');
}
