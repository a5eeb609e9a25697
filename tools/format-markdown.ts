import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { documents, readDocument, repository } from '../tests/docs/markdown.ts';
import { oneSentenceALine } from './one-sentence-a-line.ts';

/** `npm run format` lays every document out with one sentence a line; a test says which are not. */
for (const path of documents()) {
  const text = readDocument(path);
  const laidOut = oneSentenceALine(text);
  if (laidOut === text) continue;
  writeFileSync(join(repository, path), laidOut);
  console.log(`written: ${path}`);
}
