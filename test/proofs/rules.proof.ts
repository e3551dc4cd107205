import '../rules.test.ts'
