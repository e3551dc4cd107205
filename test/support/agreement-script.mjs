// Counts agreement out of messages, by itself: it shares no code with Gavel. Reads {lines, since, tenants, source, seen} from standard
// input, writes {figures, cells}: figures by PROTOCOL|PART|VALUE as [agreeing, of, low, high, without label].
import { readFileSync } from 'node:fs'

const { lines, since, tenants, source, seen } = JSON.parse(readFileSync(0, 'utf8'))
const verdicts = {}
const fed = {}
const languages = {}
const looked = []
const gone = new Set()
const into = (all, key, one) => {
  all[key] = [...(all[key] ?? []), one]
}
for (const { topic, value, ms } of lines) {
  const subject = `${value.tenant ?? 'default'}/${value.subjectId ?? value.id}`
  if (topic === 'verdicts') into(verdicts, `${subject}/${value.protocol}`, value)
  if (topic === 'feedback') into(fed, `${subject}/${value.protocol}`, { ...value, ms })
  if (topic === 'decisions') looked.push(value.sawLabel)
  if (topic === 'posts') gone.add(subject)
  if (topic === 'transcripts') languages[value.verdictId] = value.subject?.post.lang ?? ''
}

/** Wilson's interval as the set of shares that the data do not contradict: its ends are searched for. */
function ends(hits, of) {
  const z = 1.959963984540054
  const fits = (p) => Math.abs(hits / of - p) <= z * Math.sqrt((p * (1 - p)) / of) + 1e-15
  const search = (inside, outside) => {
    if (fits(outside)) return outside
    for (let n = 0; n < 200; n++) {
      const middle = (inside + outside) / 2
      if (fits(middle)) inside = middle
      else outside = middle
    }
    return inside
  }
  return [search(hits / of, 0), search(hits / of, 1)]
}

const figures = {}
const cells = {}
for (const [key, all] of Object.entries(verdicts)) {
  const [tenant, id, protocol] = key.split('/')
  if (gone.has(`${tenant}/${id}`) || (tenants && !tenants.includes(tenant))) continue
  const byRevision = all.sort((a, b) => a.revision - b.revision)
  const newest = byRevision[byRevision.length - 1]
  const machine = byRevision.filter(({ decidedBy }) => decidedBy !== 'human').pop()
  const words = (fed[key] ?? []).map(({ label, ms, sawLabel }) => ({ label, ms, sawLabel, from: 'feedback' }))
  if (newest.decidedBy === 'human' && !newest.decision.unseen)
    words.push({
      label: newest.label,
      ms: Date.parse(newest.timing.decidedAt),
      sawLabel: looked[Number(newest.decision.of.split('@')[1])],
      from: 'decision',
    })
  const word = words.sort((a, b) => a.ms - b.ms).pop()
  if (!machine || !word || word.ms < since) continue
  const sight = word.sawLabel === undefined ? 'unknown' : word.sawLabel ? 'shown' : 'blind'
  if ((source && word.from !== source) || (seen && sight !== seen)) continue
  const comments = machine.counts.accepted
  // Back to the Monday, a day at a time.
  const day = new Date(word.ms)
  while (day.getUTCDay() !== 1) day.setTime(day.getTime() - 86_400_000)
  const monday = [day.getUTCFullYear(), day.getUTCMonth() + 1, day.getUTCDate()]
  const language = languages[byRevision[0].id] ?? ''
  const parts = [
    'all|',
    `week|${monday.map((one) => String(one).padStart(2, '0')).join('-')}`,
    `language|${language}`,
    `reach|${[1000, 100, 10, 1, 0].find((low) => comments >= low)}`,
    `seen|${sight}`,
    `source|${word.from}`,
    ...(machine.label === null ? [] : [`label|${machine.label}`, `label-language|${machine.label}/${language}`]),
    ...new Set((machine.clauses ?? []).map((clause) => `clause|${machine.policy.name} ${clause.id}`)),
  ]
  for (const part of parts) {
    const sum = figures[`${protocol}|${part}`] ?? { hits: 0, of: 0, none: 0 }
    figures[`${protocol}|${part}`] = sum
    if (machine.label === null) sum.none++
    else sum.of++
    if (machine.label === word.label) sum.hits++
  }
  const cell = `${protocol}|${word.label}|${machine.label}`
  cells[cell] = (cells[cell] ?? 0) + 1
}
for (const [name, { hits, of, none }] of Object.entries(figures))
  figures[name] = [hits, of, ...(of === 0 ? [null, null] : ends(hits, of)), none]
process.stdout.write(JSON.stringify({ figures, cells }))
