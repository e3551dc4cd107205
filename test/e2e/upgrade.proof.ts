import { worksSideBySide } from './upgrade.ts'

worksSideBySide()
