import { hash } from 'node:crypto'
import { html, type Safe } from './view.ts'

/** A page as one file: its style stands in it, and nothing of it is fetched or run. */
export function toFile(title: string, body: Safe, style: string): string {
  const own = style.replaceAll('</', '<\\/')
  const allowed = `default-src 'none'; style-src 'sha256-${hash('sha256', own, 'base64')}'`
  const head = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${allowed}"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>`
  return `${head}<style>${own}</style></head><body><main>${body}</main></body></html>\n`
}
