import '../models/attacks.test.ts'
import '../models/wire.test.ts'
