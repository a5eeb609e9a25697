import type { SignInRefusal } from './sessions.ts';

/** What the form says after a try; the words of a request are never in it. */
const refusals: Readonly<Record<SignInRefusal | 'none', string>> = {
  none: 'That is no token: paste all of it, and nothing else.',
  unknown: 'The API server does not know this token, or it has ended. Make a new one.',
  away: 'The API server does not answer. Try again; the token was not kept.',
  full: 'There are as many sessions as this console has room for. Try again later.',
  busy: 'Too many people sign in at this moment. Try again in a second; the token was not kept.',
};

/** A form of its own, without script: a token that is pasted here is read by no other code than the server's. */
export function signInPage(refusal?: keyof typeof refusals): string {
  const said = refusal === undefined ? '' : `<p class="refused" role="alert">${refusals[refusal]}</p>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in · Rollcall</title>
<link rel="stylesheet" href="/sign-in.css">
</head>
<body>
<main>
<h1>Rollcall</h1>
<p>Sign in with a token of the hub’s API server. You have the same rights here as with kubectl.</p>
${said}
<form method="post" action="/sign-in">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off" autocapitalize="none" spellcheck="false" required autofocus aria-describedby="where">
<button type="submit">Sign in</button>
</form>
<p id="where" class="hint">For example <code>kubectl create token NAME --duration 8h</code>, or the token of your identity provider. It stays in the memory of this console until it ends or you sign out, and is written nowhere.</p>
<p class="hint">Signed in already? <a href="/">To the fleet</a></p>
<form method="post" action="/sign-out"><button type="submit" class="plain">Sign out in this browser</button></form>
</main>
</body>
</html>
`;
}

export const signInStyle = `:root{color-scheme:light dark;--bg:#f7f7f5;--panel:#fff;--line:#8d8a82;--ink:#1c1b18;--soft:#615e57;--accent:#1a56ad;--on:#fff;--bad:#b23521}
@media (prefers-color-scheme:dark){:root{--bg:#141413;--panel:#1b1b1a;--line:#77746d;--ink:#ecebe6;--soft:#a8a59c;--accent:#7fb0ff;--on:#141413;--bad:#ff8a75}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:16px;background:var(--bg);color:var(--ink);font:14px/1.5 ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}
main{width:100%;max-width:420px;background:var(--panel);border-radius:12px;padding:28px;box-shadow:0 1px 3px rgb(0 0 0/18%)}
h1{font-size:20px;margin:0 0 4px}
p{margin:0 0 16px}
label{display:block;font-weight:600;margin-bottom:4px}
input{width:100%;padding:9px 10px;border:1px solid var(--line);border-radius:8px;background:var(--bg);color:var(--ink);font:13px/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}
button{margin-top:12px;padding:9px 16px;border:1px solid transparent;border-radius:8px;background:var(--accent);color:var(--on);font:inherit;font-weight:600;cursor:pointer}
.plain{margin:0;padding:0;border:0;background:none;color:var(--accent);font-weight:400;text-decoration:underline}
.hint{color:var(--soft);font-size:12.5px;margin:16px 0 0;overflow-wrap:anywhere}
.hint+form{margin-top:4px;font-size:12.5px}
.refused{color:var(--bad);border:1px solid var(--bad);border-radius:8px;padding:8px 12px}
a{color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
`;
