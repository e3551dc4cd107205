import { foreign, html, Markup } from './markup.ts'
import { PAGE_STYLE } from './page-style.ts'

/** A report as one HTML page that needs nothing else: no script, no font, no picture from elsewhere, and its policy forbids them. */
export function framedPage(title: string, body: Markup, style = ''): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${new Markup(PAGE_STYLE + style)}</style>
</head>
<body><main>
<h1>${foreign(title, 300)}</h1>
${body}
</main></body>
</html>
`
  return page.source
}
