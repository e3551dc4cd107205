import { hash } from 'node:crypto'
import { html, type SafeMarkup } from './view.ts'

/**
 * A page as one file: its style stands in it, and nothing of it is fetched; nothing is run but its own script, which its policy names by its
 * hash.
 */
export function toFile(
  title: string,
  body: SafeMarkup,
  { style, script = '' }: { style: string; script?: string },
): string {
  const own = style.replaceAll('</', '<\\/')
  const runs = script === '' ? '' : `; script-src 'sha256-${hash('sha256', script, 'base64')}'`
  const allowed = `default-src 'none'; img-src data:; style-src 'sha256-${hash('sha256', own, 'base64')}'${runs}`
  const head = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${allowed}"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>`
  // Addresses of the console lead nowhere from a file; words of strangers hold no quotes.
  const inert = String(body).replaceAll(/ href="\/[^"]*"/g, '')
  return `${head}<style>${own}</style></head><body><main>${inert}</main>${script === '' ? '' : `<script>${script}</script>`}</body></html>\n`
}
