import forge from 'node-forge';

/** A value on its way into DER. node-forge only encodes here; it never signs and never verifies. */
export type DerNode = forge.asn1.Asn1;

const { asn1 } = forge;
const universal = asn1.Class.UNIVERSAL;
const contextSpecific = asn1.Class.CONTEXT_SPECIFIC;
const primitive = (type: forge.asn1.Type, bytes: string): DerNode =>
  asn1.create(universal, type, false, bytes);

export const oid = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
} as const;

/** The constructors that a certificate is written with. Bytes are strings of one character a byte. */
export const der = {
  sequence: (...parts: DerNode[]): DerNode => asn1.create(universal, asn1.Type.SEQUENCE, true, parts),
  set: (...parts: DerNode[]): DerNode => asn1.create(universal, asn1.Type.SET, true, parts),
  boolean: (value: boolean): DerNode => primitive(asn1.Type.BOOLEAN, value ? '\xff' : '\x00'),
  integer: (bytes: string): DerNode => primitive(asn1.Type.INTEGER, bytes),
  oid: (id: string): DerNode => primitive(asn1.Type.OID, asn1.oidToDer(id).getBytes()),
  octetString: (bytes: string): DerNode => primitive(asn1.Type.OCTETSTRING, bytes),
  /** The first byte is the number of unused bits. */
  bitString: (bytes: string): DerNode => primitive(asn1.Type.BITSTRING, bytes),
  utf8: (text: string): DerNode => primitive(asn1.Type.UTF8, forge.util.encodeUtf8(text)),
  /** `[tag] IMPLICIT` around bytes. */
  context: (tag: number, bytes: string): DerNode => asn1.create(contextSpecific, tag, false, bytes),
  /** `[tag] EXPLICIT` around a node. */
  explicit: (tag: number, part: DerNode): DerNode => asn1.create(contextSpecific, tag, true, [part]),
};

export function toDer(node: DerNode): Buffer {
  return Buffer.from(asn1.toDer(node).getBytes(), 'latin1');
}

/** @throws TypeError; the library says what is wrong with which byte, and how deep it lets things nest, in `cause` */
export function fromDer(bytes: Buffer): DerNode {
  try {
    return asn1.fromDer(bytes.toString('latin1'));
  } catch (cause) {
    throw new TypeError('the bytes are no DER', { cause });
  }
}

/** A distinguished name: one attribute a set, organizations first, as Kubernetes reads groups and user from it. */
export function name(commonName: string, organizations: readonly string[]): DerNode {
  const attribute = (id: string, text: string): DerNode => der.set(der.sequence(der.oid(id), der.utf8(text)));
  return der.sequence(
    ...organizations.map((text) => attribute(oid.organization, text)),
    attribute(oid.commonName, commonName),
  );
}

export function extension(id: string, value: DerNode, options: { critical?: boolean } = {}): DerNode {
  const critical = options.critical === true ? [der.boolean(true)] : [];
  return der.sequence(der.oid(id), ...critical, der.octetString(toDer(value).toString('latin1')));
}

export function validity(beginsAtMs: number, endsAtMs: number): DerNode {
  return der.sequence(time(new Date(beginsAtMs)), time(new Date(endsAtMs)));
}

/** RFC 5280, 4.1.2.5: two-digit years until 2049, four-digit years from 2050 on. */
function time(date: Date): DerNode {
  return date.getUTCFullYear() < 2050
    ? primitive(asn1.Type.UTCTIME, asn1.dateToUtcTime(date))
    : primitive(asn1.Type.GENERALIZEDTIME, asn1.dateToGeneralizedTime(date));
}
