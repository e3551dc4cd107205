import type { AnsweredTurn } from './kind.ts'

/**
 * What several voices of one stage said, by their names, whether each was asked alone or several in a call. A turn's role has the names
 * in brackets, as its ask's label had them; `ofNth` reads what the nth of several said.
 */
export function answersBySpeaker(
  turns: readonly AnsweredTurn[],
  stage: string,
  alone: (answer: unknown) => string | undefined,
  ofNth: (answer: unknown, nth: number, name: string) => string | undefined,
): Record<string, string> {
  const spoken = turns
    .filter((turn) => turn.stage === stage)
    .flatMap(({ role, answer }) => {
      const names = /\((.*)\)$/.exec(role)?.[1]?.split(', ') ?? []
      return names.map((name, nth) => [name, names.length === 1 ? alone(answer) : ofNth(answer, nth, name)] as const)
    })
  return Object.fromEntries(spoken.filter((one): one is readonly [string, string] => one[1] !== undefined))
}
