// {{name}}: a plugin with one tool. Try it alone:
//
//   vibe-bus plugins test ./{{name}} word_count '{"file": "README.md"}'
//   vibe-bus plugins fuzz ./{{name}}
import { readFile } from 'node:fs/promises';
import { createPlugin } from 'vibe-bus/plugin';
import { z } from 'zod';

await createPlugin({ name: '{{name}}', version: '0.1.0' })
  .tool({
    name: 'word_count',
    description: 'Count the lines and words of a text file.',
    input: z.object({ file: z.string().describe('Path inside the workspace.') }),
    // Nothing is changed, so the call may run beside others.
    mutating: false,
    async execute({ file }, call) {
      // Throws for a path that leads out of the workspace; the model reads the message.
      const path = await call.resolvePath(file);
      const text = await readFile(path, { encoding: 'utf8', signal: call.signal });
      return `${text.split('\n').length} lines, ${text.split(/\s+/).filter(Boolean).length} words`;
    },
  })
  // .agent({ role: '…', system_prompt: '…' }) offers an agent,
  // .beforeTool(({ tool, input }) => …) may refuse any tool call by returning { abort: 'why, and the way out' }.
  .serve();
