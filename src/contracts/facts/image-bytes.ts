import { hash } from 'node:crypto'

/** The bytes of an image that came as a data: address in Base64. */
export function imageBytes(dataUrl: string): Buffer {
  return Buffer.from(dataUrl.slice(dataUrl.indexOf(',') + 1), 'base64')
}

/** What tells an image from every other: the SHA-256 of its bytes, in hexadecimal digits. */
export function imageHash(dataUrl: string): string {
  return hash('sha256', imageBytes(dataUrl), 'hex')
}
