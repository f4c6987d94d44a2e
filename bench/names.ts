/** The figures that can be asked for, in the order they run. */
export const figureNames: readonly string[] = [
  'step',
  'bus',
  'stdio',
  'plugins',
  'plugin-start',
  'dispatch',
  'pool',
  'grep',
  'glob',
  'extract',
  'actors',
  'mcp',
  'mcp-first-step',
];
