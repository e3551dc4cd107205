import type { Dialect, DialectPart } from '../../domain/dialect.ts'
import { DIALECTS, PLAIN } from './dialects.ts'

/** Weaker ways to ask for an answer's form come later. */
const FORMS = ['json_schema', 'json_object', 'text'] as const

/** What a model is told to take: by the shipped rows, then by the settings' patterns, in their order. */
export function toldDialect(
  at: {
    /** The model's name at its endpoint. */
    readonly model: string
    readonly endpoint: string
    readonly host: string
    /** The strongest form that the endpoint understands. */
    readonly form: Dialect['form']
  },
  settings: Readonly<Record<string, DialectPart>>,
): Dialect {
  const known = DIALECTS.filter(
    ({ host = '*', model = '*' }) => fits(host, at.host) && namesOf(at.model).some((one) => fits(model, one)),
  ).map(({ takes }) => takes)
  const set = Object.entries(settings).flatMap(([pattern, takes]) =>
    [`${at.endpoint}/${at.model}`, ...namesOf(at.model)].some((one) => fits(pattern, one)) ? [takes] : [],
  )
  const told: Dialect = Object.assign({}, PLAIN, ...known, ...set)
  return { ...told, form: FORMS[Math.max(FORMS.indexOf(told.form), FORMS.indexOf(at.form))] ?? 'text' }
}

/** A model's name, and what stands behind its maker's: `openai/gpt-5-mini` is `gpt-5-mini`. */
function namesOf(model: string): string[] {
  const short = model.slice(model.lastIndexOf('/') + 1)
  return short === model ? [model] : [model, short]
}

const patterns = new Map<string, RegExp>()

/** Whether a name has the form of a pattern, in which `*` stands for any characters; without regard to case. */
function fits(pattern: string, name: string): boolean {
  const known = patterns.get(pattern) ?? new RegExp(`^${pattern.split('*').map(literally).join('.*')}$`, 'i')
  patterns.set(pattern, known)
  return known.test(name)
}

function literally(text: string): string {
  return text.replace(/[\\^$.+?()[\]{}|]/g, '\\$&')
}
