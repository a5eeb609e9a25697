// oxlint-disable unicorn/no-useless-spread -- values stand beside each other, not below each other
import type { Rows } from './rows.ts';

const names = [
  ...[
    'my-name',
    'My-Name',
    '-a',
    'a-',
    '',
    'a.b',
    'a..b',
    '1a',
    'a_b',
    'é',
    'a'.repeat(63),
    'a'.repeat(64),
    'a'.repeat(254),
  ],
];
const validate = (format: string) => `format.${format}().validate($).optMap(p, p.size()).orValue(0)`;

export const namedFormatRows: Rows = [
  [validate('dns1123Label'), ...names],
  [validate('dns1123Subdomain'), ...names],
  [validate('dns1035Label'), ...names],
  [validate('qualifiedName'), ...names, 'a/b', '/b', 'a/', 'a/b/c', 'A/b', 'example.com/Name_1'],
  [validate('dns1123LabelPrefix'), ...names, 'a--', '-'],
  [validate('dns1123SubdomainPrefix'), ...names, 'a.-'],
  [validate('dns1035LabelPrefix'), ...names],
  [validate('labelValue'), ...names, 'A.b_c-d'],
  [validate('uri'), 'https://a/b', '/a', 'a', '', 'mailto:x', 'https://a:b:c/'],
  [
    validate('uuid'),
    ...[
      '123e4567-e89b-12d3-a456-426614174000',
      '123E4567E89B12D3A456426614174000',
      '',
      'x',
      '123e4567-e89b-12d3-a456-42661417400',
    ],
    ...['123e4567e89b-12d3-a456-426614174000'],
  ],
  [validate('byte'), 'aGVsbG8=', 'aGVsbG8', '', 'aGVs', 'a===', 'aGV sbG8=', 'a-_='],
  [
    validate('date'),
    '2021-01-01',
    '2021-02-30',
    '2021-1-1',
    '',
    '2024-02-29',
    '2021-01-01T00:00:00Z',
    '0000-01-01',
  ],
  [
    validate('datetime'),
    ...[
      '2021-01-01T00:00:00Z',
      '2021-01-01t00:00:00z',
      '2021-01-01T00:00:00.5+01:00',
      '2021-01-01T24:00:00Z',
      '2021-01-01',
      '',
    ],
    ...['2021-01-01 00:00:00Z', '2021-01-01T00:00:60Z', '2021-02-30T00:00:00Z', '2021-01-01T00:00Z'],
  ],
  'format.named("dns1123Label").hasValue()',
  'format.named("DNS1123Label").hasValue()',
  'format.named("nothing").hasValue()',
  'format.named("uuid").value().validate("x").hasValue()',
  'format.named("date").optFlatMap(f, f.validate("2021-01-01")).hasValue()',
  'format.named(1)',
  'format.nothing()',
  'format.dns1123Label() == format.named("dns1123Label").value()',
  'format.dns1123Label() == format.dns1035Label()',
  'format.dns1123Label().validate(1)',
];
