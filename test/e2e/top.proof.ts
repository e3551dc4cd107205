import './top.test.ts'
