import { describe, expect, test } from 'vitest';
import { checkCommand } from '../../src/tools/shell-policy.ts';

function isAllowed(command: string): boolean {
  return checkCommand(command, { root: '/srv/project', network: false }).allow;
}

// CP1, CP6: bash evaluates the value of a variable in `$(( … ))` as an expression, and `a[$(id)]` in it runs `id`.
describe('an arithmetic expansion', () => {
  test.each([
    'echo $((x))',
    'x=5; echo $((x+1))',
    'i=0; while [ $i -lt 3 ]; do i=$((i+1)); done',
    'i=0; i=$((i + $HOME))',
    'for i in 1 2 3; do echo $((i*2)); done',
    'for i in $(seq 1 5); do echo $((i*2)); done',
    'for i in {1..5}; do echo $((i*2)); done',
    'n=$(wc -l < f); echo $((n+1))',
    'n=$(ls | wc -l); echo $((n+1))',
    'echo $(( $(cat f | wc -l) / 2 ))',
    'x=$(grep -c foo bar); echo $((x))',
    'x=$(stat -c %s f); echo $(( x / 1024 ))',
    'start=$(date +%s); end=$(date +%s); echo $((end - start))',
    ': ${n:=5}; echo $((n))',
    'x=\'5\' y="7"; echo $((x * y))',
    'a=$((1)); b=$a; echo $((b+a))',
    'x=1; x=${x%.*}; echo $((x + ${#x} + $# + $?))',
    'echo $((x=1)); echo $((x+=1))',
    'echo $((0x1f + 8#7 > 3 ? 1 : -2))',
    'echo $((RANDOM % 10))',
    "x=5 sh -c 'echo $((x))'",
  ])('of numbers is allowed: %s', (command) => {
    expect(isAllowed(command)).toBe(true);
  });

  test.each([
    "x='a[$(id)]'; echo $((x))",
    'x=\'a[$(id)]\'; echo "$((1 + x))"',
    "x=y; y='a[$(id)]'; echo $((x))",
    "for i in a; do echo $((x)); x='a[$(id)]'; done",
    "for x in 1 'a[$(id)]'; do echo $((x)); done",
    'for x; do echo $((x)); done',
    'for x in *; do echo $((x)); done',
    'n=$(cat f); echo $((n+1))',
    'n=$(wc -l f); echo $((n))',
    'n=$(wc -l | cat); echo $((n))',
    'n=$(wc -l "$f"); echo $((n))',
    'n=$(id; wc -l); echo $((n))',
    'n=$(seq "$x"); echo $((n))',
    'n=1$(cat f); echo $((n))',
    'echo $(( $(cat f) ))',
    'echo $(( `cat f` ))',
    'n=${1:-5}; echo $((n))',
    'echo $(($1))',
    ': ${n:=a[1]}; echo $((n))',
    'n=${m:-a[1]}; echo $((n))',
    'read n; echo $((n))',
    'echo x | while read; do echo $((REPLY)); done',
    'read -an; echo $((n))',
    "printf -v x %s 'a[$(id)]'; echo $((x))",
    "printf -vx %s 'a[$(id)]'; echo $((x))",
    'getopts a: o; echo $((OPTARG))',
    'mapfile; echo $((MAPFILE))',
    "x='a[$(id)]' sh -c 'echo $((x))'",
    "env x='a[$(id)]' bash -c 'echo $((x))'",
    "export x='a[$(id)]'; bash -c 'echo $((x))'",
    'eval \'x="a[1]"\'; echo $((x))',
    "trap 'echo $((x))' EXIT; x='a[$(id)]'",
    "x='a[$(id)]'; cat <<E\n$((x))\nE",
    "x='a[$(id)]'; y=$((x)) ls",
    "x='a[$(id)]'; ls f${z:-$((x))}",
    'echo $((BASH_COMMAND))',
    'echo $((BASH_EXECUTION_STRING))',
    'x=PATH=7; echo $((x))',
    'echo $((PATH=1))',
    'echo $((PATH+=1))',
    'echo $((PATH <<= 1))',
    'echo $((++PATH))',
    'echo $((PATH--))',
    'echo $((x ? PATH=1 : 2))',
    'echo $((x = PATH = 1))',
  ])('of anything else is refused: %s', (command) => {
    expect(isAllowed(command)).toBe(false);
  });
});

describe('variables that the shell itself computes with', () => {
  test.each(['OPTIND=1', 'SECONDS=0', 'RANDOM=42; echo $RANDOM'])('may be set to a number: %s', (command) => {
    expect(isAllowed(command)).toBe(true);
  });

  test.each([
    "RANDOM='a[$(id)]'",
    'SECONDS=x',
    'for OPTIND in 1; do ls; done',
    'read HISTCMD',
    'printf -v SRANDOM %s x',
    'export LINENO=x',
    'env SECONDS=x bash x.sh',
  ])('must not be set to anything else: %s', (command) => {
    expect(isAllowed(command)).toBe(false);
  });
});

describe('`test` and `[`', () => {
  test.each(['[ "$(wc -l < f)" -gt 3 ]', '[ $? -eq 0 ]', 'test -v HOME -a -n x', '[ -v x ]', '[ $i -lt 10 ]'])(
    'may compare numbers and look for a variable: %s',
    (command) => {
      expect(isAllowed(command)).toBe(true);
    },
  );

  test.each([
    "test -v 'a[$(id)]'",
    "test -v ok -a -v 'a[$(id)]'",
    "[ x = y -o -R 'a[$(id)]' ]",
    "[ 'a[$(id)]' -eq 1 ]",
    "[ 1 -lt 'a[`id`]' ]",
  ])('must not evaluate an index: %s', (command) => {
    expect(isAllowed(command)).toBe(false);
  });
});
