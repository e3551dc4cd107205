import { survivesKills } from './kill.ts'

survivesKills(1)
