const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types svelte-trusted-html',
].join('; ');

/** On every answer: nothing from elsewhere, nothing inline, no frame around it, nothing kept. */
const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy,
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Of a page with a form of ours; without its referrer a browser would say that it comes from nowhere. */
export const formHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy.replace("form-action 'none'", "form-action 'self'"),
  'referrer-policy': 'same-origin',
};

/** @param more - what this answer has beside them, or instead */
export function withSecurityHeaders(headers: Headers, more: Readonly<Record<string, string>> = {}): void {
  for (const [name, value] of Object.entries({ ...securityHeaders, ...more })) headers.set(name, value);
}
