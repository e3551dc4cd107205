import './vetoes.test.ts'
