import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { allDashboards } from './all.ts'
import { type Ask, drawDashboard } from './draw.ts'

const HELP = `Usage: npm run pictures -- [options]

Draws every dashboard from what a Prometheus has, as SVG, without Grafana.

Options:
  --prometheus <url>  default: http://127.0.0.1:9090
  --minutes <number>  how far back (default: 30)
  --out <folder>      default: .gavel/pictures
  -h, --help          display help
`

const answer = z.object({
  status: z.string(),
  error: z.string().optional(),
  data: z
    .object({
      result: z.array(
        z.object({
          metric: z.record(z.string(), z.string()),
          values: z.array(z.tuple([z.number(), z.string()])),
        }),
      ),
    })
    .optional(),
})

/** Asks this Prometheus; throws, in its own words, what it says is wrong with a query. */
export function askPrometheus(url: string): Ask {
  return async (expr, { from, to, step }) => {
    const body = new URLSearchParams({ query: expr, start: String(from), end: String(to), step: String(step) })
    const response = await fetch(new URL('/api/v1/query_range', url), { method: 'POST', body })
    const { status, error, data } = answer.parse(await response.json())
    if (status !== 'success' || data === undefined) throw new Error(`${expr}: ${error}`)
    return data.result
  }
}

/** Draws every dashboard into the folder; times in s since 1970. Returns the files. */
export async function drawAll(url: string, range: { readonly from: number; readonly to: number }, folder: string) {
  mkdirSync(folder, { recursive: true })
  const ask = askPrometheus(url)
  const files: string[] = []
  for (const board of allDashboards()) {
    const file = join(folder, `${board.uid}.svg`)
    writeFileSync(file, await drawDashboard(board, ask, range))
    files.push(file)
  }
  return files
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      prometheus: { type: 'string', default: 'http://127.0.0.1:9090' },
      minutes: { type: 'string', default: '30' },
      out: { type: 'string', default: '.gavel/pictures' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  const minutes = Number(values.minutes)
  if (values.help) process.stdout.write(HELP)
  else if (!(minutes > 0)) {
    process.stderr.write(`--minutes must be a number above 0.\n${HELP}`)
    process.exitCode = 2
  } else {
    const to = Date.now() / 1000
    try {
      for (const file of await drawAll(values.prometheus, { from: to - minutes * 60, to }, values.out))
        process.stdout.write(`${file}\n`)
    } catch (error) {
      process.stderr.write(
        `Prometheus at ${values.prometheus} can't be asked: ${error instanceof Error ? error.message : error}\n`,
      )
      process.exitCode = 1
    }
  }
}
