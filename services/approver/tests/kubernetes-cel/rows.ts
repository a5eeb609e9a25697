import { comprehensionRows } from './comprehension-rows.ts';
import { conversionRows } from './conversion-rows.ts';
import { ipAndCidrRows } from './ip-and-cidr-rows.ts';
import { languageRows } from './language-rows.ts';
import { listRows } from './list-rows.ts';
import { namedFormatRows } from './named-format-rows.ts';
import { quantityRows } from './quantity-rows.ts';
import { regexRows } from './regex-rows.ts';
import { semverRows } from './semver-rows.ts';
import { stringRows } from './string-rows.ts';
import { urlRows } from './url-rows.ts';

/** An expression, or one with the values that `$` stands for: each pair of the two is a row. */
export type Rows = readonly (string | readonly [expression: string, ...values: string[]])[];

/** What is evaluated, by an API server and by us. */
export interface Row {
  /** `$` is `object.data.value`, whose type nobody knows beforehand. */
  readonly expression: string;
  readonly value: string;
}

function rowsOf(rows: Rows): Row[] {
  return rows.flatMap((row) => {
    if (typeof row === 'string') return [{ expression: row, value: '' }];
    const [expression, ...values] = row;
    return values.map((value) => ({ expression, value }));
  });
}

export const rows: readonly Row[] = [
  comprehensionRows,
  conversionRows,
  ipAndCidrRows,
  languageRows,
  listRows,
  namedFormatRows,
  quantityRows,
  regexRows,
  semverRows,
  stringRows,
  urlRows,
].flatMap(rowsOf);
