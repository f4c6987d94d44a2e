// What the model says, by the first message of the conversation and then turn by turn. Only the model is made up: every call
// it makes is carried out, every answer is checked against the shape that its agent is asked for.

import {
  checkedTemperature,
  lengthExport,
  temperature,
  temperatureExport,
  testOf,
  weight,
  weightExport,
} from './code.ts';

/** A turn that calls tools. */
function calling(text: string, ...calls: readonly (readonly [name: string, input: object])[]): object {
  return { text, tool_calls: calls.map(([name, input]) => ({ id: `call_${JSON.stringify(input)}`, name, input })) };
}

/** A last turn: some words and the document. */
function answering(text: string, document: object): object {
  return { text: `${text}\n\n\`\`\`json\n${JSON.stringify(document, undefined, 2)}\n\`\`\`` };
}

const testRun = ['bash', { command: 'node --test' }] as const;

const requirements = {
  summary: 'The package converts temperatures to degrees Celsius and weights to kilograms, besides lengths.',
  requirements: [
    {
      id: 'R1',
      description: '`toCelsius(value, unit)` converts C, F and K',
      kind: 'functional',
      priority: 1,
      acceptance: ["toCelsius(32, 'F') is 0", "toCelsius(0, 'K') is -273.15"],
    },
    {
      id: 'R2',
      description: '`toKilograms(value, unit)` converts g, kg, oz and lb',
      kind: 'functional',
      priority: 1,
      acceptance: ["toKilograms(1, 'lb') is 0.45359237"],
    },
    {
      id: 'R3',
      description: 'Unknown units and temperatures below absolute zero are refused with a RangeError',
      kind: 'constraint',
      priority: 1,
      acceptance: ["toCelsius(-1, 'K') throws a RangeError", "toKilograms(1, 'stone') throws a RangeError"],
    },
    {
      id: 'R4',
      description: 'The README lists every conversion',
      kind: 'non_functional',
      priority: 2,
      acceptance: ['the table of README.md has a row for toCelsius and one for toKilograms'],
    },
  ],
  context: {
    relevant_files: ['src/index.js', 'src/length.js', 'README.md'],
    findings: ['src/length.js refuses unknown units with a RangeError'],
    assumptions: ['negative weights stay allowed: differences of weights are weights'],
  },
};

const draft = { ...requirements, body: '# Conversions\n\nTemperatures to Celsius, weights to kilograms.' };
const spec = {
  ...draft,
  body: `${draft.body}\n\nAbsolute zero is -273.15 °C; what lies below it is refused, in every unit.`,
};

function report(status: 'done' | 'failed', summary: string, files: readonly string[], notes = ''): object {
  return { status, summary, files_changed: files, notes };
}

export const answers: { readonly [asked: string]: readonly object[] } = {
  'Rate the task.': [
    calling('How large is this?', ['list_dir', { path: '.' }], ['grep', { pattern: 'toMetres', output_mode: 'files' }]),
    answering('Two new modules after the pattern of one that is there.', {
      complexity: 'standard',
      confidence: 0.8,
      reasoning: 'Two independent modules and a README. The lower bound of temperatures needs a fact.',
      needs_research: true,
      needs_critique: true,
      risk_level: 'low',
    }),
  ],

  'Collect the requirements.': [
    calling('What is there?', ['read_file', { path: 'src/length.js' }], ['read_file', { path: 'README.md' }]),
    answering('Four requirements.', requirements),
  ],

  'Check the facts.': [
    {
      text:
        '## Dependencies\nnone\n\n## API notes\n`toMetres(value, unit)` throws a RangeError (src/length.js:5).\n\n' +
        '## Risks and contradictions\nFactors of ounces and pounds are exact by definition; rounding them is a mistake.\n\n' +
        '## Open questions\nnone',
    },
  ],

  'Write the specification.': [
    calling('As a document first.', ['write_file', { path: '.factory/spec.md', content: draft.body }]),
    answering('And as data.', draft),
  ],

  'Criticise the specification.': [
    answering('One gap.', {
      verdict: 'revised',
      issues: [
        {
          severity: 'medium',
          title: 'Absolute zero is not given in all units',
          detail: 'R3 refuses what lies below it without saying where it is; the text does now.',
          requirement: 'R3',
        },
      ],
      spec,
    }),
  ],

  'Plan the work.': [
    answering('Two modules at once, then the README.', {
      approach: 'Both conversions follow src/length.js and do not need each other. The README comes last.',
      phases: [
        {
          name: 'Both conversions work',
          parallel: true,
          subtasks: [
            {
              title: 'Convert temperatures',
              description: 'toCelsius in src/temperature.js, exported by the package (R1, R3)',
              files: ['src/temperature.js', 'test/temperature.test.js'],
              depends_on: [],
              verification: ['node --test: all pass'],
            },
            {
              title: 'Convert weights',
              description: 'toKilograms in src/weight.js, exported by the package (R2, R3)',
              files: ['src/weight.js', 'test/weight.test.js'],
              depends_on: [],
              verification: ['node --test: all pass'],
            },
          ],
        },
        {
          name: 'The README is complete',
          parallel: false,
          subtasks: [
            {
              title: 'Document the conversions',
              description: 'One row for each new conversion (R4)',
              files: ['README.md'],
              depends_on: ['Convert temperatures', 'Convert weights'],
              verification: ['grep toKilograms README.md: one row'],
            },
          ],
        },
      ],
    }),
  ],

  'Carry out: Convert temperatures': [
    calling(
      'Like lengths.',
      ['write_file', { path: 'src/temperature.js', content: temperature }],
      [
        'write_file',
        {
          path: 'test/temperature.test.js',
          content: testOf(
            'toCelsius',
            "test('water freezes at 32 degrees Fahrenheit', () => {\n  assert.equal(toCelsius(32, 'F'), 0);\n});\n",
          ),
        },
      ],
      ['write_file', { path: 'src/index.js', content: lengthExport + temperatureExport }],
      testRun,
    ),
    answering('Done.', report('done', 'toCelsius; node --test passes', ['src/temperature.js', 'src/index.js'])),
  ],

  'Carry out: Convert weights': [
    calling(
      'A table of factors, as for lengths.',
      ['write_file', { path: 'src/weight.js', content: weight }],
      [
        'write_file',
        {
          path: 'test/weight.test.js',
          content: testOf(
            'toKilograms',
            "test('a pound is exact', () => {\n  assert.equal(toKilograms(1, 'lb'), 0.45359237);\n});\n",
          ),
        },
      ],
      ['write_file', { path: 'src/index.js', content: lengthExport + weightExport }],
      testRun,
    ),
    answering('Done.', report('done', 'toKilograms; node --test passes', ['src/weight.js', 'src/index.js'])),
  ],

  'Carry out: Document the conversions': [
    calling('One row more.', [
      'edit_file',
      { path: 'README.md', old_string: "| `toMeters(1, 'mi')` | `1609.344` |", new_string: '' },
    ]),
    answering('That text is not there.', report('failed', 'README.md has no row for toMeters', [])),
  ],

  'Take over: Document the conversions': [
    calling('Looking before editing.', ['read_file', { path: 'README.md' }]),
    calling('It is spelt toMetres.', [
      'edit_file',
      {
        path: 'README.md',
        old_string: "| `toMetres(1, 'mi')` | `1609.344` |\n",
        new_string:
          "| `toMetres(1, 'mi')` | `1609.344` |\n| `toCelsius(32, 'F')` | `0` |\n| `toKilograms(1, 'lb')` | `0.45359237` |\n",
      },
    ]),
    answering('Done.', report('done', 'The attempt edited a row from memory. Two rows added.', ['README.md'])),
  ],

  'Resolve: src/index.js': [
    {
      text: `\`\`\`js\n${lengthExport}${temperatureExport}${weightExport}\`\`\`\nBoth sides add an export; both stay.`,
    },
  ],

  'Review the work, round 1.': [
    calling('Do the checks pass, and what do they leave out?', testRun, ['read_file', { path: 'src/temperature.js' }]),
    answering('One requirement is not met.', {
      verdict: 'changes_requested',
      summary: 'node --test passes. R3 holds for units only: nothing refuses temperatures below absolute zero.',
      issues: [
        {
          severity: 'high',
          title: 'Temperatures below absolute zero are accepted',
          detail: "toCelsius(-1, 'K') gives -274.15 instead of a RangeError",
          requirement: 'R3',
          file: 'src/temperature.js',
          line: null,
        },
      ],
    }),
  ],

  'Fix the issues of round 1.': [
    calling(
      'The check belongs behind the conversion, where it holds for every unit.',
      [
        'write_file',
        {
          path: 'src/temperature.js',
          content: checkedTemperature,
        },
      ],
      [
        'edit_file',
        {
          path: 'test/temperature.test.js',
          old_string: "test('water",
          new_string:
            "test('below absolute zero there is nothing', () => {\n  assert.throws(() => toCelsius(-1, 'K'), RangeError);\n});\n\ntest('water",
        },
      ],
      testRun,
    ),
    answering('Fixed.', {
      status: 'done',
      summary: 'toCelsius checks its result; a test shows it; node --test passes.',
      fixed: ['Temperatures below absolute zero are accepted'],
    }),
  ],

  'Review the work, round 2.': [
    calling('Again from the start.', testRun, ['read_file', { path: 'README.md' }]),
    answering('Nothing left.', { verdict: 'approved', summary: 'R1 to R4 hold; node --test passes.', issues: [] }),
  ],

  'Describe: Convert temperatures': [{ text: 'feat: convert temperatures to degrees Celsius' }],
  'Describe: Convert weights': [{ text: 'feat: convert weights to kilograms' }],
  'Describe: Document the conversions': [{ text: 'docs: list all conversions' }],
  'Describe: Fix the issues of round 1': [{ text: 'fix: refuse temperatures below absolute zero' }],
};
