import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { documents, readDocument, repository } from './markdown.ts';

/** What set-up, a build or a run makes; a fresh clone does not have it. */
const made = /^(?:node_modules|dist|\.rollcall|coverage)(?:\/|$)/;
/** Prefixes of labels, which look like folders. */
const labelPrefix = /^(?:[a-z0-9-]+\.)+(?:dev|io)\/$/;
/** Folders and files of ours, written from the top or from the document's own folder. */
const looksLikePath =
  /^(?:\.\.?\/)*[A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)*(?:\/|\.(?:ts|mjs|md|yaml|yml|json))$/;

const outsideBlocks = (markdown: string) => markdown.replaceAll(/```[\s\S]*?```/g, '');

/** What a document names in code quotes and looks like a path: `services/approver/`, `token-check.ts`. */
function namedPaths(markdown: string): string[] {
  const quoted = [...outsideBlocks(markdown).matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text);
  return quoted.filter((text) => looksLikePath.test(text) && !made.test(text) && !labelPrefix.test(text));
}

function linkedPaths(markdown: string): string[] {
  return [...outsideBlocks(markdown).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target.replace(/#.*/, ''))
    .filter((target) => target !== '' && !/^[a-z]+:/.test(target));
}

/** Folders that a document speaks of; a bare file name may be meant from any of them. */
function namedFolders(document: string, markdown: string): string[] {
  const home = dirname(document);
  const named = [...namedPaths(markdown), ...linkedPaths(markdown)]
    .filter((path) => path.includes('/'))
    .map((path) => (path.endsWith('/') ? path : dirname(path)));
  return [...new Set(['.', home, ...named, ...named.map((folder) => join(home, folder))])];
}

function exists(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => existsSync(join(repository, normalize(join(folder, path)))));
}

test.each(documents())('every path that %s names exists', (document) => {
  const markdown = readDocument(document);
  const folders = namedFolders(document, markdown);
  const missing = namedPaths(markdown).filter((path) => !exists(path, folders));
  expect(missing).toEqual([]);
});

test.each(documents())('every link in %s leads somewhere', (document) => {
  const folder = dirname(document);
  const broken = linkedPaths(readDocument(document)).filter(
    (target) => !existsSync(join(repository, folder, target)),
  );
  expect(broken).toEqual([]);
});

test('every top folder says what lives there', () => {
  const folders = ['agent', 'bench', 'cli', 'deploy', 'docs', 'libs/shared', 'services', 'tests', 'tools'];
  const withReadme = new Set(documents());
  expect(folders.filter((folder) => !withReadme.has(`${folder}/README.md`))).toEqual([]);
});
