import { hash } from 'node:crypto'
import type { Verdict } from '../domain/verdict.ts'
import { html, type Safe } from './view.ts'

/** What a saved verdict is called. */
export function fileName({ id }: Pick<Verdict, 'id'>): string {
  return `gavel-${id.replace(/[^A-Za-z0-9.-]+/g, '-').slice(0, 100)}.html`
}

/** A page as one file: its style stands in it, and nothing of it is fetched or run. */
export function toFile(title: string, body: Safe, style: string): string {
  const own = style.replaceAll('</', '<\\/')
  const allowed = `default-src 'none'; style-src 'sha256-${hash('sha256', own, 'base64')}'`
  const head = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${allowed}"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>`
  // Addresses of the console lead nowhere from a file; words of strangers hold no quotes.
  const inert = String(body).replaceAll(/ href="\/[^"]*"/g, '')
  return `${head}<style>${own}</style></head><body><main>${inert}</main></body></html>\n`
}
