import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { drawAll } from '../../grafana/code/pictures.ts'
import { findOnPath, runCommand } from '../../src/kit/stack/servers/command.ts'

/** Pictures begin this long before the fault, in s. */
export const BEFORE_S = 180

/**
 * Draws every dashboard as SVG, and as PNG too where there is a Chromium; times in s since 1970. Returns the files.
 */
export async function drawDrill(
  prometheusUrl: string,
  range: { readonly from: number; readonly to: number },
  folder: string,
): Promise<string[]> {
  const drawn = await drawAll(prometheusUrl, range, folder)
  const chromium = await findOnPath('chromium', 'chromium-browser', 'google-chrome')
  if (chromium === undefined) return drawn
  const pictures: string[] = []
  for (const file of drawn) {
    const picture = file.replace(/svg$/, 'png')
    const [, width, height] = /width="(\d+)" height="(\d+)"/.exec(readFileSync(file, 'utf8')) ?? []
    const args = ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars']
    const shot = [`--window-size=${width},${height}`, `--screenshot=${picture}`, pathToFileURL(file).href]
    await runCommand(chromium, [...args, ...shot], 60_000)
    pictures.push(picture)
  }
  return [...drawn, ...pictures]
}
