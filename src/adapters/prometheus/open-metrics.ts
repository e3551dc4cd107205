const HEAD = /^# (?:HELP|TYPE) (\S+)/

/**
 * A page of Prometheus' text format in OpenMetrics' form, in which a counter's family is named without `_total`, no line
 * is empty, and the last line says that it is. prom-client's own writer renames the counters of its registry for good, so
 * that no page in the other form can follow.
 */
export function openMetricsOf(page: string): string {
  const counters = new Set([...page.matchAll(/^# TYPE (\S+)_total counter$/gm)].map(([, name]) => `${name}_total`))
  const lines = page.split('\n').flatMap((line) => {
    if (line === '') return []
    const name = HEAD.exec(line)?.[1]
    return [
      name !== undefined && counters.has(name) ? line.replace(`${name} `, `${name.slice(0, -'_total'.length)} `) : line,
    ]
  })
  return `${lines.join('\n')}\n# EOF\n`
}
