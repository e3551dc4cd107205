/**
 * Items of which the least is wanted: a binary heap that knows the place of each, so that one may be put in, change or leave at a
 * cost that grows with the logarithm of their number. Of equal ones any may be first.
 */
export class LeastFirst<Item> {
  readonly #isBefore: (one: Item, other: Item) => boolean
  readonly #items: Item[] = []
  readonly #places = new Map<Item, number>()

  constructor(isBefore: (one: Item, other: Item) => boolean) {
    this.#isBefore = isBefore
  }

  get first(): Item | undefined {
    return this.#items[0]
  }

  get isEmpty(): boolean {
    return this.#items.length === 0
  }

  /** Puts it in its place: one that is new, or of which has changed what it is compared by. */
  put(item: Item): void {
    this.#settle(item, this.#places.get(item) ?? this.#items.length)
  }

  remove(item: Item): void {
    const place = this.#places.get(item)
    if (place === undefined) return
    this.#places.delete(item)
    const last = this.#items.pop() as Item // there is one: the item itself, if no other
    if (last !== item) this.#settle(last, place)
  }

  /** Moves an item that may stand at this place up or down to where it belongs. */
  #settle(item: Item, from: number): void {
    let place = from
    for (let above = parentOf(place); place > 0 && this.#isLess(item, above); above = parentOf(place))
      place = this.#move(above, place)
    for (let below = this.#lesserChild(place); below !== null && !this.#isLess(item, below); )
      [place, below] = [this.#move(below, place), this.#lesserChild(below)]
    this.#items[place] = item
    this.#places.set(item, place)
  }

  #isLess(item: Item, place: number): boolean {
    return this.#isBefore(item, this.#items[place] as Item) // called for places that are taken
  }

  #lesserChild(place: number): number | null {
    const [left, right] = [2 * place + 1, 2 * place + 2]
    if (left >= this.#items.length) return null
    return right < this.#items.length && this.#isLess(this.#items[right] as Item, left) ? right : left // it is taken
  }

  /** Moves the item at one place to another; gives the place that is free now. */
  #move(from: number, to: number): number {
    const item = this.#items[from] as Item // called for places that are taken
    this.#items[to] = item
    this.#places.set(item, to)
    return from
  }
}

function parentOf(place: number): number {
  return (place - 1) >> 1
}
