import { createHash } from 'node:crypto'
import { foreign, html, Markup } from './markup.ts'
import { PAGE_STYLE } from './page-style.ts'

/**
 * A report as one HTML page that needs nothing else: no font, no picture from elsewhere, no script but its own, which its policy names by its
 * hash.
 */
export function framedPage(
  title: string,
  body: Markup,
  { style = '', script = '' }: { style?: string; script?: string } = {},
): string {
  const hash = createHash('sha256').update(script).digest('base64')
  const runs = script === '' ? '' : new Markup(`; script-src 'sha256-${hash}'`)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'${runs}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${new Markup(PAGE_STYLE + style)}</style>
</head>
<body><main>
<h1>${foreign(title, 300)}</h1>
${body}
</main>${script === '' ? '' : html`<script>${new Markup(script)}</script>`}
</body></html>
`
  return page.source
}
