import { z } from 'zod';

/**
 * Building blocks of the six kinds. Every text has a limit: the API server estimates the cost of CEL rules from it, and a status
 * that an agent could grow without end would be kept in etcd.
 */

/** A DNS label (RFC 1123): also safe as a NATS subject token and as a namespace. */
export const dnsLabel = () =>
  z
    .string()
    .max(63)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);

/** Free text for people. */
export const text = (maxLength: number) => z.string().max(maxLength);

/** CamelCase for machines, as in the reason of a Kubernetes condition. */
export const reason = () =>
  z
    .string()
    .max(128)
    .regex(/^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?$/);

/** Fingerprint of an agent's key. The form is the registrar's business; here only what is safe to print and to compare. */
export const keyFingerprint = () =>
  z
    .string()
    .max(128)
    .regex(/^[A-Za-z0-9:+/=._-]+$/);

/** An NKey of a user as NATS prints it. */
export const publicNKey = () => z.string().regex(/^U[A-Z2-7]{55}$/);

/** RFC 3339, hub time. Not `format: date-time`, so that columns print it as it is and not as an age. */
export const timestamp = () => text(40);

/** Labels as somebody asks for them, in the syntax of Kubernetes (the API server checks it again where they are used). */
export const labelMap = () => z.record(z.string(), z.string().max(63)).meta({ maxProperties: 64 });

/** Labels that a cluster will get: none of ours and none of Kubernetes', whose meaning others rely on (a set, for example). */
export const givenLabels = () =>
  labelMap().meta({
    maxProperties: 64,
    'x-kubernetes-validations': [
      {
        rule: "self.all(key, !key.matches('^([^/]+[.])?(rollcall[.]dev|kubernetes[.]io|k8s[.]io)/'))",
        message: 'labels under rollcall.dev/, kubernetes.io/ and k8s.io/ are reserved',
      },
    ],
  });
