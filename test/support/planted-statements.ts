import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { dsaStatement } from '../../src/contracts/facts/dsa-statement.ts'
import { completedMap } from './own-map.ts'

/** A database that takes each puid once, 100 a call, and whose first answer is lost. */
export async function plantedDatabase() {
  const taken = new Map<string, number>()
  const calls: number[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { statements } = JSON.parse(Buffer.concat(chunks).toString()) as { statements: { puid: string }[] }
      calls.push(statements.length)
      const known = statements.map(({ puid }) => puid).filter((puid) => taken.has(puid))
      const isSound = statements.length <= 100 && statements.every((one) => dsaStatement.safeParse(one).success)
      if (!isSound || known.length > 0) {
        response.writeHead(422, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ errors: { existing_puids: known } }))
        return
      }
      for (const { puid } of statements) taken.set(puid, (taken.get(puid) ?? 0) + 1)
      if (calls.length === 1) request.socket.destroy()
      else response.writeHead(201).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/statements` // It listens on a port.
  return { url, taken, calls, close: () => void server.close() }
}

/** The shipped map, in which these labels of a protocol have words, too: which one the understudy gives is its own. */
export function mapWithLabels(folder: string, protocol: string, labels: readonly string[]): string {
  const path = join(folder, 'map.yaml')
  const words = '{ category: STATEMENT_CATEGORY_OTHER_VIOLATION_TC, en: unconfirmed, de: unbestätigt }'
  const more = labels.map((label) => `    ${label}: ${words}\n`).join('')
  writeFileSync(path, completedMap().replace(`  ${protocol}:\n`, `  ${protocol}:\n${more}`))
  return path
}
