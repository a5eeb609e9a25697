import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
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
  const folders = [
    'agent',
    'bench',
    'cli',
    'console',
    'deploy',
    'docs',
    'libs/shared',
    'services',
    'tests',
    'tools',
  ];
  const withReadme = new Set(documents());
  expect(folders.filter((folder) => !withReadme.has(`${folder}/README.md`))).toEqual([]);
});

/** Tracked text files; large recordings and what other people wrote cite nothing of ours. */
function citingFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: repository, encoding: 'utf8' });
  return listed
    .split('\0')
    .filter((path) => /(?:\.(?:ts|mjs|md|ya?ml|json|sh|tpl|go)|Dockerfile)$/.test(path))
    .filter((path) => !/package-lock\.json$|^tests\/fixtures\/|\/recorded\//.test(path))
    .filter((path) => existsSync(join(repository, path)));
}

/** Everything in these files that is cited by a number. */
function cited(pattern: RegExp): { path: string; text: string; number: number }[] {
  return citingFiles().flatMap((path) =>
    [...readFileSync(join(repository, path), 'utf8').matchAll(pattern)].map(([text, number]) => ({
      path,
      text,
      number: Number(number),
    })),
  );
}

test('principles and ADRs are cited by these names, never as a decision with a number', () => {
  expect(cited(/\bdecisions?\s+(?:(?:\*|\/\/|#)\s+)?\[?(\d+)\b/gi)).toEqual([]);
});

test('every principle that is cited stands in the design', () => {
  const principles = [...readDocument('docs/design.md').matchAll(/^### (\d+)\. /gm)].map(([, n]) =>
    Number(n),
  );
  expect(principles).toHaveLength(13);
  expect(cited(/\bprinciples? (\d+)/gi).filter(({ number }) => !principles.includes(number))).toEqual([]);
});

test('every ADR that is cited has a page, and every page a line in the index', () => {
  const pages = readdirSync(join(repository, 'docs/decisions')).filter((name) => /^\d{4}-/.test(name));
  const numbers = pages.map((name) => Number(name.slice(0, 4)));
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  const index = readDocument('docs/decisions/README.md');
  const unlisted = pages.filter((name, at) => !index.includes(`| [${at + 1}](${name}) |`));
  expect(unlisted).toEqual([]);
  // NATS has ADRs too; they are written with a hyphen.
  expect(cited(/\bADRs? \[?(\d+)\b/g).filter(({ number }) => !numbers.includes(number))).toEqual([]);
  expect(cited(/\[ADR (\d+)\]\((?![^)]*\b0*\1-)/g)).toEqual([]);
});

/** The names that headings get as targets of links, as GitHub makes them. */
function headingTargets(markdown: string): Set<string> {
  const headings = [...outsideBlocks(markdown).matchAll(/^#+ (.+)$/gm)].map(([, text = '']) => text);
  return new Set(
    headings.map((text) =>
      text
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}

test.each(documents())('every link in %s to a heading leads to one', (document) => {
  const links = [...outsideBlocks(readDocument(document)).matchAll(/\]\(([\w./-]*\.md)?#([^)\s]+)\)/g)];
  const broken = links.filter(([, page, heading = '']) => {
    const path = page === undefined ? document : join(dirname(document), page);
    return existsSync(join(repository, path)) && !headingTargets(readDocument(path)).has(heading);
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});
