/** Tasks that run side by side as long as they weigh so much together at most, a heavier one by itself; in order of arrival. */
export interface WeightedSlots {
  run<Result>(weight: number, task: () => Promise<Result>): Promise<Result>
}

export function weightedSlots(most: number): WeightedSlots {
  const waiting: { readonly weight: number; readonly go: () => void }[] = []
  let [running, weight] = [0, 0]

  function look(): void {
    for (
      let [next] = waiting;
      next !== undefined && (running === 0 || weight + next.weight <= most);
      [next] = waiting
    ) {
      waiting.shift()
      running++
      weight += next.weight
      next.go()
    }
  }

  return {
    async run(own, task) {
      await new Promise<void>((go) => {
        waiting.push({ weight: own, go })
        look()
      })
      try {
        return await task()
      } finally {
        running--
        weight -= own
        look()
      }
    },
  }
}
