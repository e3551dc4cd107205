import { describe, expect, it } from 'vitest'
import { drawDashboard } from '../grafana/code/draw.ts'
import { overview } from '../grafana/code/overview.ts'
import { type AnyPanel, lines, stat, timeline } from '../grafana/code/panels.ts'
import type { Series } from '../grafana/code/plots.ts'

const SHOWN = { title: 'A panel', says: 'What it means and what to do about it, in one line.', unit: 's' }
/** Ten minutes from midnight on; a point every 4 s. */
const MIDNIGHT = Date.UTC(2026, 0, 1) / 1000
const RANGE = { from: MIDNIGHT + 14 * 3600, to: MIDNIGHT + 14 * 3600 + 600 }

/** A picture of one panel over series of these values, a point every 4 s from `after` seconds on; null: no point. */
async function drawn(panel: AnyPanel, all: Readonly<Record<string, readonly (number | null)[]>>, after = 0) {
  const series: Series[] = Object.entries(all).map(([name, values]) => ({
    metric: { name, alertname: name, severity: 'page' },
    values: values.flatMap((value, at) =>
      value === null ? [] : [[RANGE.from + after + 4 * at, String(value)] as const],
    ),
  }))
  const board = { ...overview(), panels: [panel.build()] } as Parameters<typeof drawDashboard>[0]
  return drawDashboard(board, async () => series, RANGE)
}

const LINES = lines(SHOWN, { '{{name}}': 'x' })
const lineIn = (svg: string) => /aria-label="line"[^>]*>(.*?)<\/g>/s.exec(svg)?.[1] ?? ''
const parts = (svg: string) => (/ d="([^"]*)"/.exec(lineIn(svg))?.[1] ?? '').split('M').length - 1

describe('a line in a picture', () => {
  it('is whole where there is a value at every step', async () => {
    expect(parts(await drawn(LINES, { a: [1, 2, 3, 4, 5] }))).toBe(1)
  })

  it('is broken where a quotient is of nothing by nothing, and where there is no point', async () => {
    expect(parts(await drawn(LINES, { a: [1, 2, Number.NaN, Number.NaN, 3, 4] }))).toBe(2)
    expect(parts(await drawn(LINES, { a: [1, 2, null, null, 3, 4] }))).toBe(2)
  })

  it('is broken in Grafana too', () => {
    const { fieldConfig } = LINES.build()
    expect(fieldConfig?.defaults.custom).toMatchObject({ spanNulls: false })
  })
})

describe('a picture', () => {
  it('has the same time range in every panel, wherever its data begins, in 24 hours', async () => {
    const labels = (svg: string) => [...svg.matchAll(/>(\d\d:\d\d)</g)].map(([, label]) => label)
    const [all, last] = [await drawn(LINES, { a: [1, 2] }), await drawn(LINES, { a: [1, 2] }, 400)]
    expect(labels(all)).toEqual(expect.arrayContaining(['14:00', '14:10']))
    expect(labels(last)).toEqual(labels(all))
    expect(lineIn(last)).not.toBe(lineIn(all))
  })

  it('says under each title what the panel means', async () => {
    expect(await drawn(LINES, { a: [1] })).toContain(`>${SHOWN.says}<`)
  })

  it('names in its legend only series that were not 0, in as many rows as they need', async () => {
    const name = (at: number) => `a series with a long name ${at}`
    const risen = Object.fromEntries([1, 2, 3, 4].map((at) => [name(at), [0, at]]))
    const svg = await drawn(LINES, { ...risen, silent: [0, 0] })
    const places = [1, 2, 3, 4].map((at) => new RegExp(`y="([\\d.]+)"[^>]*>${name(at)}<`).exec(svg)?.[1])
    expect(places).not.toContain(undefined)
    expect(new Set(places).size).toBeGreaterThan(1)
    expect(svg).not.toContain('>silent<')
    expect(svg).toContain('>the others are 0<')
  })

  it('tells a feature that is off from data that is missing', async () => {
    expect(await drawn(LINES, {})).toContain('>no data<')
    const off = stat({ ...SHOWN, off: 'not set up' }, {}, { used: 'x' })
    expect(await drawn(off, {})).toContain('>not set up<')
    expect(await drawn(off, { a: [1] })).not.toContain('>not set up<')
  })

  it('shows from when to when an alert fired', async () => {
    const panel = timeline(SHOWN, { orange: 1, red: 2, texts: {} }, { '{{alertname}} {{severity}}': 'x' })
    const svg = await drawn(panel, { GavelDown: [null, 2, 2, null, null, 2] })
    expect(svg).toContain('>GavelDown page<')
    expect(svg.match(/<rect[^>]*fill="red"/g)).toHaveLength(2)
  })
})
