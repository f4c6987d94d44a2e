/** What the demo's model answers, turn by turn; only the model is made up, every call it makes is real. */
export function demoScript(has: { readonly python: boolean }): readonly object[] {
  return [
    {
      text: 'I will look at the code, its tests and the open notes side by side.',
      tool_calls: [
        call('read_file', { path: 'src/cart.js' }),
        call('read_file', { path: 'test/cart.test.js' }),
        call('grep', { pattern: 'TODO', output_mode: 'content' }),
        ...(has.python ? [call('todo_scan', { path: '.' })] : []),
      ],
      ...paced(820, 96),
    },
    {
      text: 'The discount is taken off in cents instead of percent. What should the cart of the test cost without it?',
      tool_calls: [call('mcp__everything__get-sum', { a: 700, b: 360 }), call('guard_rules', {})],
      ...paced(1430, 74),
    },
    {
      text: 'Let me start from a clean slate.',
      tool_calls: [call('bash', { command: 'rm -rf test src' })],
      ...paced(1610, 41),
    },
    {
      text: 'That was refused, and rightly so: one line is enough.',
      tool_calls: [
        call('edit_file', {
          path: 'src/cart.js',
          old_string: '  // TODO: round halves up\n  return sum - discountPercent;',
          new_string: '  return Math.round((sum * (100 - discountPercent)) / 100);',
        }),
        call('bash', { command: 'node --test' }),
      ],
      ...paced(1790, 118),
    },
    {
      text:
        'The cart is repaired: `total` now takes its discount in percent and rounds halves up (src/cart.js). ' +
        'Both tests pass; 1060 cents less 10 % are 954. The note in README.md about odd cents is still open.',
      ...paced(2240, 87),
    },
  ];
}

function call(name: string, input: object): object {
  return { id: `call_${name}_${JSON.stringify(input).length}`, name, input };
}

/** Tokens as a real model would count them, and a wait one can follow. */
function paced(input: number, output: number): object {
  return {
    usage: { input_tokens: input, output_tokens: output, cache_read_tokens: 0, cache_write_tokens: 0 },
    delay_ms: 350,
  };
}
