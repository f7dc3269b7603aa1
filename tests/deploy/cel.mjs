// Evaluates CEL for policy_cases.py: node cel.mjs MODULE, where MODULE is the library. Standard input: a list of
// {world, variables, expressions}; standard output: for each the list of values. `variables`: each may use those before it.
import {readFileSync} from 'node:fs'

const {Environment} = await import(process.argv[2])
const environment = new Environment({enableOptionalTypes: true, unlistedVariablesAreDyn: true})

function answer({world, variables, expressions}) {
  const whole = {...world, variables: {}}
  for (const {name, expression} of variables) whole.variables[name] = environment.evaluate(expression, whole)
  return expressions.map(expression => environment.evaluate(expression, whole))
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(answer)))
